import type { BacktestRequest, DryRunRequest, StoredDecision } from '../../contract/routing-decision-contract.ts';
import type { Issue } from '../../domain/gateway-error.ts';
import { contextsOf } from '../../domain/payment-contexts.ts';
import { checkRules } from '../../routing/check-rules.ts';
import { decide, policyOf } from '../../routing/decide.ts';
import type { DecisionInput, DecisionOutput, RouteFacts } from '../../routing/decision.ts';
import { type CompiledRules, type RuleEffect, compileRules, evaluateRules } from '../../routing/evaluate-rules.ts';
import { costOf } from '../../routing/objective.ts';
import { DEFAULT_POLICY } from '../../routing/routing-policy.ts';
import { assertEnvironment } from '../access/caller.ts';
import { centsOf } from '../cents-of.ts';
import type { Deps } from '../deps.ts';
import { factsOf } from './attempts.ts';
import { decisionInput, offsetsFor, routesNotTaking } from './offers.ts';
import { type Decided, readDecisions } from './stored-decisions.ts';

/** Dry run of a quote or of an attempt, with its reasons. It writes nothing and draws no random numbers. */
export interface Supposed extends Pick<StoredDecision, 'snapshot' | 'routes' | 'input' | 'output'> {
  rejected: string | null;
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
  const { snapshot } = view;
  const output = decide(snapshot, input, DEFAULT_POLICY);
  return { snapshot, routes: snapshot.routes, input, output, rejected: effect.rejected, warnings };
}

/** Comparison of stored decisions (`was`) with the same decisions under other rules (`wouldBe`). */
export interface Backtest {
  decisions: number;
  was: Totals;
  wouldBe: Totals;
  /** Newest first. */
  different: { decided: Decided; again: DecisionOutput }[];
}

interface Totals {
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
  const result: Backtest = { decisions: 0, was: noTotals(), wouldBe: noTotals(), different: [] };
  let startingAfter: string | undefined;
  while (result.decisions < limit) {
    const page = { limit: Math.min(PAGE, limit - result.decisions), ...(startingAfter && { startingAfter }) };
    const { items, hasMore } = await deps.store.listRoutingDecisions(environment, page);
    const decided = await readDecisions(deps, items);
    const sessions = await Promise.all(decided.map(({ sessionId }) => deps.store.session(sessionId!)));
    for (const [index, one] of decided.entries()) {
      const effect = evaluateRules(rules, factsOf(sessions[index]!, one.input.at));
      addDecision(result, one, { ...one.input, effect: withDefaults(effect, request) });
    }
    startingAfter = items.at(-1)?.id;
    if (!hasMore) break;
  }
  return { ...result, was: meanOf(result.was, result.decisions), wouldBe: meanOf(result.wouldBe, result.decisions) };
}

function addDecision(result: Backtest, decided: Decided, input: DecisionInput): void {
  const again = decide(decided.snapshot, input, DEFAULT_POLICY);
  result.decisions++;
  addRoute(result.was, decided.routes, decided.output.chosen, input);
  addRoute(result.wouldBe, decided.routes, again.chosen, input);
  if (again.chosen !== decided.output.chosen) result.different.push({ decided, again });
}

function addRoute(
  totals: Totals,
  routes: readonly RouteFacts[],
  id: string | null,
  { amount, effect }: DecisionInput,
): void {
  const facts = routes.find((route) => route.id === id);
  if (!facts) return;
  totals.expectedSuccess += facts.p;
  totals.cost += costOf(facts, policyOf(DEFAULT_POLICY, effect).objective.weights, amount);
}

function noTotals(): Totals {
  return { expectedSuccess: 0, cost: 0 };
}

function meanOf({ expectedSuccess, cost }: Totals, count: number): Totals {
  const mean = (sum: number) => (count === 0 ? 0 : Math.round((sum / count) * 1_000_000) / 1_000_000);
  return { expectedSuccess: mean(expectedSuccess), cost: mean(cost) };
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
