import type { Issue } from '../domain/gateway-error.ts';
import { valueAt } from '../domain/invalid-input.ts';
import { ENVIRONMENTS, type Environment, type Route } from '../domain/route.ts';
import { compileRules, routesIn } from './evaluate-rules.ts';
import { casesOf } from './rule-cases.ts';
import { type RuleFault, within } from './rule-faults.ts';
import { type KnownValues, certaintyOf } from './rule-matching.ts';
import { faultsOf, issueOf, refusalOf } from './rule-problems.ts';
import { firstFew, idFaults, selectorCatalogueFaults } from './rule-selectors.ts';
import { MAX_RULES, ORDERINGS, type Rule, type RuleSet, ruleSchema, ruleSetSchema } from './rule-set.ts';

/** A valid rule set, with warnings. */
interface CheckedRules {
  ruleSet: RuleSet;
  /** Issues of rules that are valid but probably not intended, in the order of the rules. */
  warnings: Issue[];
}

/** Validates a rule set. Throws GatewayError `invalid_input` with all problems: wrong structure, unknown names, no route left. */
export function checkRules(input: unknown, routes: readonly Route[]): CheckedRules {
  const result = ruleSetSchema.safeParse(input);
  const shapeFaults = result.success ? [] : faultsOf(result.error.issues);
  const rules = rulesIn(input);
  const effectFaults = rules.flatMap((rule, index) => {
    const { data: valid } = ruleSchema.safeParse(rule);
    return valid ? within(['rules', index, 'then'], catalogueFaults(valid.then, routes)) : [];
  });
  const faults = [...shapeFaults, ...duplicateIds(rules), ...effectFaults];
  if (!result.success || faults.length > 0) throw refusalOf(faults.toSorted(byRule), input);
  const ruleSet = result.data;
  const survey = surveyorOf(ruleSet, routes);
  const everySession = ENVIRONMENTS.map((environment) => survey(new Map([['environment', environment]])));
  const exhausted = refusals(ruleSet.rules, everySession).filter(({ code }) => code === 'no_route_left');
  if (exhausted.length > 0) throw refusalOf(exhausted.toSorted(byRule), input);
  const surveys = casesOf(ruleSet.rules.map(({ when = {} }) => when)).map(survey);
  const refused = refusals(ruleSet.rules, surveys).map((fault) => ({ ...fault, code: 'rejects_all' }));
  const warnings = [...refused, ...ruleSet.rules.flatMap((rule, index) => warningsOf(rule, index, surveys))];
  return { ruleSet, warnings: warnings.toSorted(byRule).map((warning) => issueOf(warning, input)) };
}

function rulesIn(input: unknown): unknown[] {
  const rules = valueAt(input, ['rules']);
  return Array.isArray(rules) ? rules.slice(0, MAX_RULES) : [];
}

function duplicateIds(rules: readonly unknown[]): RuleFault[] {
  const ids = rules.map((rule) => valueAt(rule, ['id']));
  return ids.flatMap((id, index): RuleFault[] => {
    if (typeof id !== 'string' || ids.indexOf(id) === index) return [];
    const remedy = 'give each rule an id of its own';
    return [{ path: ['rules', index, 'id'], code: 'duplicate_id', message: 'is the id of an earlier rule', remedy }];
  });
}

/** Faults for names in the effects of a rule that the catalogue does not have. */
export function catalogueFaults(then: Rule['then'], routes: readonly Route[]): RuleFault[] {
  const selected = (['exclude', 'only', 'priority', 'prefer'] as const).flatMap((name) => {
    const selector = then[name];
    return selector === undefined ? [] : within([name], selectorCatalogueFaults(selector, routes));
  });
  return then.split ? [...selected, ...within(['split'], splitFaults(then.split, routes))] : selected;
}

function splitFaults(split: NonNullable<Rule['then']['split']>, routes: readonly Route[]): RuleFault[] {
  const faults = split.flatMap(({ route }, index): RuleFault[] => {
    const path = [index, 'route'];
    if (split.findIndex((share) => share.route === route) === index) return within(path, idFaults(route, routes));
    return [{ path, code: 'duplicate_route', message: 'is a duplicate', remedy: 'give each route one share' }];
  });
  const sum = split.reduce((total, { pct }) => total + pct, 0);
  if (sum !== 100) {
    const message = `adds up to ${sum}, not to 100`;
    faults.push({ path: [], code: 'not_100_percent', message, remedy: 'let pct add up to 100' });
  }
  const named = routes.filter(({ id }) => split.some(({ route }) => route === id));
  if (new Set(named.map(({ environment }) => environment)).size > 1) {
    const message = 'has routes of both environments, but a session can use only one environment';
    faults.push({ path: [], code: 'mixed_environments', message, remedy: 'make a rule for each environment' });
  }
  return faults;
}

/** Map from the index of a rule to the id of an earlier rule that supersedes it, if any. Rules that never apply are absent. */
type Standing = Map<number, string | undefined>;

/** Effect of all rules together for known values. */
interface Survey {
  environment: Environment;
  /** Rules that leave no route. */
  emptying: Set<number>;
  /** The rule that rejects every session, or leaves none of them a route. */
  refusedBy?: number;
  /** Rules whose ordering names only excluded routes. */
  idle: Set<number>;
  rules: Standing;
  orderings: Standing;
}

function surveyorOf(ruleSet: RuleSet, routes: readonly Route[]): (known: KnownValues) => Survey {
  const compiled = compileRules(ruleSet, routes);
  const certainties = ruleSet.rules.map(({ when }) => certaintyOf(when));
  return (known) => {
    const environment = known.get('environment') as Environment;
    // An environment without routes has none that the rules could take away.
    const routeCount = routes.filter((route) => route.environment === environment).length || Infinity;
    const idle = new Set<number>();
    const survey: Survey = { environment, emptying: new Set(), idle, rules: new Map(), orderings: new Map() };
    const excluded = new Set<string>();
    let rejectedBy: string | undefined;
    let orderedBy: string | undefined;
    for (const [index, rule] of compiled[environment].rules.entries()) {
      const certain = certainties[index]!(known);
      if (certain === false) continue;
      survey.rules.set(index, rejectedBy);
      if (rejectedBy !== undefined) continue;
      if (rule.ordering) survey.orderings.set(index, orderedBy);
      if (rule.excluded.length === routeCount) survey.emptying.add(index);
      if (!certain) continue;
      if (rule.ordering) orderedBy ??= rule.id;
      if (rule.actions.reject !== undefined) rejectedBy = rule.id;
      for (const route of rule.excluded) excluded.add(route);
      if (rejectedBy !== undefined || excluded.size === routeCount) survey.refusedBy ??= index;
    }
    for (const index of survey.orderings.keys()) {
      const { ordering, excluded: own } = compiled[environment].rules[index]!;
      const isExcluded = (route: string) => excluded.has(route) || own.includes(route);
      if (ordering!.outcomes.every((each) => routesIn(each)?.every(isExcluded))) idle.add(index);
    }
    return survey;
  };
}

/** The rule after which no session of an environment is left, for each environment. */
function refusals(rules: readonly Rule[], surveys: readonly Survey[]): RuleFault[] {
  return ENVIRONMENTS.flatMap((environment): RuleFault[] => {
    const own = surveys.filter((survey) => survey.environment === environment);
    const refusing = own.map(({ refusedBy }) => refusedBy ?? Infinity);
    const index = Math.max(...refusing);
    const then = rules[index]?.then;
    if (!then) return [];
    const effect = (['reject', 'only', 'exclude'] as const).find((name) => then[name] !== undefined)!;
    const path = ['rules', index, 'then', effect];
    const sessions = Math.min(...refusing) === index ? '' : ' that the rules before it accept';
    if (effect === 'reject') {
      return [{ path, code: 'rejects_all', message: `rejects every session of ${environment}${sessions}` }];
    }
    const message = `leaves no route of ${environment}, for any session${sessions}`;
    const remedy = `leave a route of ${environment}, or limit the rule to some sessions with "when"`;
    return [{ path, code: 'no_route_left', message, remedy }];
  });
}

/** Warnings about a rule or an ordering without effect in any environment, and about a rule that leaves no route. */
function warningsOf(rule: Rule, index: number, surveys: readonly Survey[]): RuleFault[] {
  const path = ['rules', index];
  const own = surveys.filter(({ rules }) => rules.has(index));
  if (own.length === 0) {
    return [{ path: [...path, 'when'], code: 'never_applies', message: 'holds for no session' }];
  }
  const rejectedBy = superseding(own.map(({ rules }) => rules.get(index)));
  if (rejectedBy !== undefined) {
    const message = `is never reached: rule ${rejectedBy} rejects all of its sessions first`;
    return [{ path, code: 'dead_rule', message }];
  }
  const emptied = new Set(own.filter(({ emptying }) => emptying.has(index)).map(({ environment }) => environment));
  if (emptied.size > 0) {
    return [...emptied].map((environment) => {
      const message = `leaves no route of ${environment} if it applies, so that such sessions are refused`;
      return { path: [...path, 'then'], code: 'no_route_left', message };
    });
  }
  const name = ORDERINGS.find((each) => rule.then[each] !== undefined);
  if (!name) return [];
  const ordered = own.filter(({ orderings }) => orderings.has(index));
  const orderedBy = superseding(ordered.map(({ orderings }) => orderings.get(index)));
  if (ordered.length > 0 && orderedBy === undefined) {
    const message = 'names only excluded routes whenever the rule orders the routes';
    const isIdle = ordered.every(({ idle, orderings }) => idle.has(index) || orderings.get(index) !== undefined);
    return isIdle ? [{ path: [...path, 'then', name], code: 'excluded_ordering', message }] : [];
  }
  const reason =
    orderedBy === undefined
      ? 'none of its routes is available when the rule applies'
      : `rule ${orderedBy} always orders the routes before it`;
  return [{ path: [...path, 'then', name], code: 'dead_ordering', message: `has no effect: ${reason}` }];
}

/** The earlier rules that supersede a rule in all cases, in words; undefined if it has an effect in some case. */
function superseding(earlier: readonly (string | undefined)[]): string | undefined {
  const ids = [...new Set(earlier)].filter((id) => id !== undefined);
  return earlier.includes(undefined) || ids.length === 0 ? undefined : firstFew(ids, ' or ');
}

function byRule(a: RuleFault, b: RuleFault): number {
  const [left, right] = [a.path[1] ?? -1, b.path[1] ?? -1];
  return Number(left) - Number(right);
}
