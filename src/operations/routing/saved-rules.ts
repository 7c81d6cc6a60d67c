import { GatewayError, type Issue } from '../../domain/gateway-error.ts';
import { checkRules } from '../../routing/check-rules.ts';
import { certaintyOf } from '../../routing/rule-matching.ts';
import type { RuleSet } from '../../routing/rule-set.ts';
import type { RulesVersion } from '../../store/tables/routing-tables.ts';
import type { Deps } from '../deps.ts';
import { retryOnConflict } from '../retry-on-conflict.ts';

const SANDBOX = new Map([['environment', 'sandbox']]);

type RulesDeps = Pick<Deps, 'store' | 'routes' | 'router' | 'now' | 'log' | 'rulesFrom'>;

/** The rules in force. */
export interface SavedRules {
  version: number;
  source: 'none' | RulesVersion['source'];
  ruleSet: RuleSet;
  warnings: Issue[];
  created: number | null;
}

/** The newest rules, or the rules of one version. Throws GatewayError `not_found` for an unknown version. */
export async function readRules(
  deps: Pick<Deps, 'store' | 'routes' | 'caller'>,
  version?: number,
): Promise<SavedRules> {
  const record = await deps.store.routingRules(version);
  if (record) return shownTo(deps, savedRules(deps, record));
  if (version === undefined || version === 0) {
    return { version: 0, source: 'none', ruleSet: { version: 1, rules: [] }, warnings: [], created: null };
  }
  throw new GatewayError('not_found', `There is no version ${version} of the routing rules.`, {
    suggestion: 'Leave version out to read the rules in force.',
  });
}

/** Puts rules in force. Throws GatewayError `invalid_input` with every problem, `invalid_state` for rules from a file. */
export async function saveRules(deps: RulesDeps, input: unknown): Promise<SavedRules> {
  if (deps.rulesFrom === 'file') {
    throw new GatewayError('invalid_state', 'The routing rules of this service come from a file.', {
      suggestion: 'Change the file that ROUTING_RULES_FILE names, and restart; or unset it.',
    });
  }
  const saved = await store(deps, input, 'api');
  await deps.router.refresh();
  return saved;
}

/** Puts the rules of a file in force. An invalid file logs an error, or throws if no rules are in force. */
export async function loadRules(deps: RulesDeps, file: string, read: () => unknown): Promise<void> {
  const before = await deps.store.routingRules();
  try {
    const { version } = await store(deps, read(), 'file');
    if (version !== before?.version) deps.log.info({ file, version }, 'routing rules read');
  } catch (error) {
    const problem = problemOf(error);
    if (problem === undefined) throw error;
    if (!before) throw new Error(`the routing rules in ${file} are wrong: ${problem}`, { cause: error });
    deps.log.error(
      { file, problem, version: before.version },
      `the routing rules in ${file} are wrong; version ${before.version} stays in force`,
    );
  }
}

/** Problem of a file, in words; undefined for other errors. */
function problemOf(error: unknown): string | undefined {
  if (error instanceof GatewayError && error.code === 'invalid_input') {
    return (error.details.issues ?? []).map(({ path, message }) => `${path} ${message}`).join('; ');
  }
  const isOfFile = error instanceof SyntaxError || (error instanceof Error && 'syscall' in error);
  return isOfFile ? error.message : undefined;
}

async function store(deps: RulesDeps, input: unknown, source: RulesVersion['source']): Promise<SavedRules> {
  const body = JSON.stringify(checkRules(input, deps.routes).ruleSet);
  return retryOnConflict(deps, 'the routing rules', async () => {
    const newest = await deps.store.routingRules();
    if (newest?.body === body) return { changes: [], result: savedRules(deps, newest) };
    const rules: RulesVersion = { version: (newest?.version ?? 0) + 1, source, body, created: deps.now() };
    return { changes: [{ type: 'rules_saved', rules }], result: savedRules(deps, rules) };
  });
}

function savedRules({ routes }: Pick<Deps, 'routes'>, { version, source, body, created }: RulesVersion): SavedRules {
  const ruleSet = JSON.parse(body) as RuleSet;
  return { version, source, ruleSet, warnings: warningsOf(ruleSet, routes), created };
}

/** The rules that the caller may see: a sandbox key does not see rules that apply only in production. */
function shownTo({ caller }: Pick<Deps, 'caller'>, saved: SavedRules): SavedRules {
  if (caller?.environment !== 'sandbox') return saved;
  const { ruleSet } = saved;
  const rules = ruleSet.rules.filter(({ when }) => certaintyOf(when)(SANDBOX) !== false);
  // Warnings name rules by their index, which changes if rules are left out.
  const warnings = rules.length < ruleSet.rules.length ? [] : saved.warnings;
  return { ...saved, ruleSet: { ...ruleSet, rules }, warnings };
}

/** Warnings about saved rules. A route that the rules name and the catalogue no longer has is not an error. */
function warningsOf(ruleSet: RuleSet, routes: Deps['routes']): Issue[] {
  try {
    return checkRules(ruleSet, routes).warnings;
  } catch (error) {
    if (error instanceof GatewayError) return error.details.issues ?? [];
    throw error;
  }
}
