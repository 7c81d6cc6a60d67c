import type { BacktestRequest, DryRunRequest, StoredDecision } from '../../contract/routing-decision-contract.ts';
import type { Issue } from '../../domain/gateway-error.ts';
import { contextsOf } from '../../domain/payment-contexts.ts';
import { checkRules } from '../../routing/check-rules.ts';
import { decide, expectedOf, policyOf } from '../../routing/decide.ts';
import type { DecisionInput, DecisionOutput } from '../../routing/decision.ts';
import { type CompiledRules, type RuleEffect, compileRules, evaluateRules } from '../../routing/evaluate-rules.ts';
import { costOf } from '../../routing/objective.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import { assertEnvironment } from '../access/caller.ts';
import { centsOf } from '../cents-of.ts';
import type { Deps } from '../deps.ts';
import { factsOf } from './attempts.ts';
import { decisionInput, offsetsFor, routesNotTaking } from './offers.ts';
import { readDecisions } from './stored-decisions.ts';

/** Dry run of a quote or of an attempt, with its reasons. It writes nothing and draws no random numbers. */
export interface Supposed extends Pick<StoredDecision, 'snapshot' | 'input' | 'output'> {
  /** Warnings about the rules of the request; none without rules. */
  warnings: Issue[];
}

/** Makes a dry run. Throws GatewayError `invalid_input` for rules that could not be saved either. */
export function dryRun(
  deps: Pick<Deps, 'caller' | 'router' | 'routes' | 'now' | 'newId' | 'routingMetadataKey'>,
  request: DryRunRequest,
): Supposed {
  const { environment } = request;
  assertEnvironment(deps, environment);
  const view = deps.router.view(environment);
  const at = deps.now();
  const amount = centsOf(request.amount);
  const { rules, warnings } = supposedRules(deps, view.rules, request.rules);
  const { kind = null, preferredRoute: preferredKind = null, clientReferenceId = null } = request;
  const checkout = { ...request, amount, preferredRoute: preferredKind, clientReferenceId };
  // The key for splits is random, like the idempotency key of a new session.
  const identity = { customerEmail: request.customer, idempotencyKey: deps.newId('chk') };
  const effect = evaluateRules(rules, factsOf({ ...checkout, ...identity }, at));
  const offsets = offsetsFor(view, contextsOf({ ...checkout, ...identity }, at, deps.routingMetadataKey));
  const purpose = kind === null ? 'offer' : 'attempt';
  const barred = Object.fromEntries(routesNotTaking(view, amount));
  const input = decisionInput({ purpose, at, kind, preferredKind, amount, barred, offsets, effect });
  const output = decide(view.snapshot, input, DEFAULT_POLICY);
  return { snapshot: view.snapshot, input, output, warnings };
}

/** Comparison of stored decisions (`was`) with the same decisions under other rules (`wouldBe`). */
export interface Backtest {
  decisions: number;
  was: Means;
  wouldBe: Means;
  /** Newest first. */
  different: Repeated[];
}

/** A stored decision, the input of its repetition and the result. */
interface Repeated {
  decided: StoredDecision;
  input: DecisionInput;
  again: DecisionOutput;
}

interface Means {
  expectedSuccess: number;
  cost: number;
}

const PAGE = 100;

/** Repeats the newest decisions from their snapshots, under other rules or another objective. It cannot know the later outcomes. */
export async function backtest(
  deps: Pick<Deps, 'store' | 'router' | 'routes'>,
  request: BacktestRequest,
): Promise<Backtest> {
  const { environment, limit } = request;
  const { rules } = supposedRules(deps, deps.router.view(environment).rules, request.rules);
  const repeated: Repeated[] = [];
  let startingAfter: string | undefined;
  while (repeated.length < limit) {
    const page = { limit: Math.min(PAGE, limit - repeated.length), ...(startingAfter && { startingAfter }) };
    const { items, hasMore } = await deps.store.listRoutingDecisions(environment, page);
    const decided = await readDecisions(deps, items);
    const sessions = await Promise.all(decided.map(({ sessionId }) => deps.store.session(sessionId!)));
    for (const [index, one] of decided.entries()) {
      const effect = evaluateRules(rules, factsOf(sessions[index]!, one.input.at));
      const input = { ...one.input, effect: withDefaults(effect, request) };
      repeated.push({ decided: one, input, again: decide(one.snapshot, input, DEFAULT_POLICY) });
    }
    startingAfter = items.at(-1)?.id;
    if (!hasMore) break;
  }
  return {
    decisions: repeated.length,
    was: meansOf(repeated, ({ decided }) => decided.output.chosen),
    wouldBe: meansOf(repeated, ({ again }) => again.chosen),
    different: repeated.filter(({ decided, again }) => again.chosen !== decided.output.chosen),
  };
}

/** Means over all decisions with the routes that `chosenOf` returns. A decision without a route counts as 0. */
function meansOf(repeated: readonly Repeated[], chosenOf: (one: Repeated) => string | null): Means {
  const totals = { expectedSuccess: 0, cost: 0 };
  for (const one of repeated) {
    const { decided, input } = one;
    const facts = decided.snapshot.routes.find(({ id }) => id === chosenOf(one));
    if (!facts) continue;
    totals.expectedSuccess += expectedOf(facts, input).p;
    totals.cost += costOf(facts, policyOf(DEFAULT_POLICY, input.effect).objective.weights, input.amount);
  }
  const mean = (sum: number) => Math.round((sum / Math.max(1, repeated.length)) * 1_000_000) / 1_000_000;
  return { expectedSuccess: mean(totals.expectedSuccess), cost: mean(totals.cost) };
}

function supposedRules(
  { routes }: Pick<Deps, 'routes'>,
  saved: CompiledRules,
  given: unknown,
): { rules: CompiledRules; warnings: Issue[] } {
  if (given === undefined) return { rules: saved, warnings: [] };
  const { ruleSet, warnings } = checkRules(given, routes);
  return { rules: compileRules(ruleSet, routes), warnings };
}

function withDefaults(effect: RuleEffect, { margin, objective }: BacktestRequest): RuleEffect {
  return { ...effect, margin: effect.margin ?? margin ?? null, objective: effect.objective ?? objective ?? null };
}
