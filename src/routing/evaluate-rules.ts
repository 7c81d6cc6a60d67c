import { hash } from 'node:crypto';
import { ARMS, type Arm } from '../domain/experiment.ts';
import { isRecord } from '../domain/is-record.ts';
import type { Environment, Route } from '../domain/route.ts';
import { uniformOf } from './draw.ts';
import { type ObjectiveName, deepFrozen } from './routing-policy.ts';
import type { RuleFacts } from './rule-fields.ts';
import { matcherOf } from './rule-matching.ts';
import { type RouteSelector, firstFew, routesOf, selectorInWords } from './rule-selectors.ts';
import type { Failover, Rule, RuleActions, RuleSet } from './rule-set.ts';

/** Order in which a session tries routes, with the rule that sets the order. `smart`: by expected value. */
export type RuleOrdering =
  | { type: 'smart' }
  /** The routes strictly in this order. */
  | { type: 'priority'; routes: readonly string[]; rule: string }
  /** These routes before all others. */
  | { type: 'prefer'; routes: readonly string[]; rule: string }
  /** `head` first: the route of the share that the split assigned to the session. */
  | { type: 'split'; head: string; rule: string };

/** The routes of an ordering; undefined for `smart`. */
export const routesIn = (ordering: RuleOrdering): readonly string[] | undefined =>
  ordering.type === 'smart' ? undefined : ordering.type === 'split' ? [ordering.head] : ordering.routes;

/** Effect of the rules on a session: plain JSON without data of the session. */
export interface RuleEffect {
  /** The code of the rule that refuses the session. */
  rejected: string | null;
  /** Each excluded route once, with the first rule that excludes it. */
  excluded: readonly { route: string; rule: string }[];
  explore: boolean;
  maxAttempts: number;
  failover: Failover;
  /** Null for the margin of the policy. */
  margin: number | null;
  objective: ObjectiveName | null;
  ordering: RuleOrdering;
  /** The rules that had an effect, first to last, and the effect, such as `prefer rt_eu_card`. */
  matched: readonly { id: string; effect: string }[];
  /** The running experiment, and the arm of the session; missing without one. */
  experiment?: { experimentId: string; arm: Arm };
}

/** A running experiment: since `created`, `share` percent of the sessions of its environment have the effects of the variant. */
export interface RoutingExperiment {
  id: string;
  environment: Environment;
  share: number;
  variant: RuleActions;
  created: RuleFacts['at'];
}

/** A rule set with its routes resolved for each environment. */
export type CompiledRules = Readonly<Record<Environment, CompiledEnvironment>>;

interface CompiledEnvironment {
  rules: readonly CompiledRule[];
  /** Cache of effects, by the rules that apply and the drawn share. */
  effects: Map<string, RuleEffect>;
}

interface CompiledRule {
  id: string;
  matches: (facts: RuleFacts) => boolean;
  actions: RuleActions;
  excluded: readonly string[];
  ordering: CompiledOrdering | undefined;
  /** Description of the effects other than ordering; empty for none. */
  words: string;
  /** Arm of an experiment. Its ordering, objective and margin replace those of the rules. */
  experiment?: RuleEffect['experiment'];
}

interface CompiledOrdering {
  words: string;
  /** One ordering for each share of a split; otherwise a single one. */
  outcomes: readonly RuleOrdering[];
  /** Selects the index in `outcomes` for a session; missing if there is only one. */
  draw?: (facts: RuleFacts) => number;
}

// Shared by both environments, because sessions without rules cache no effect.
const NO_COMPILED_RULES: CompiledEnvironment = { rules: [], effects: new Map() };
export const NO_RULES: CompiledRules = deepFrozen({ sandbox: NO_COMPILED_RULES, production: NO_COMPILED_RULES });

/** The effect without rules: the router orders, may explore, and tries at most three routes of the same kind. */
export const NO_EFFECT = deepFrozen<RuleEffect>({
  rejected: null,
  excluded: [],
  explore: true,
  maxAttempts: 3,
  failover: 'same_kind',
  margin: null,
  objective: null,
  ordering: { type: 'smart' },
  matched: [],
});

// A full cache is cleared. Only rule sets in which many rules match independently have this many effects.
const MAX_CACHED_EFFECTS = 1000;
const SHARE_STEPS = 10_000;

/** Resolves the selectors of rules and experiments to routes. A split gives the share of a route that was removed from the catalogue to its other routes. */
export function compileRules(
  ruleSet: RuleSet,
  routes: readonly Route[],
  experiments: readonly RoutingExperiment[] = [],
): CompiledRules {
  if (ruleSet.rules.length === 0 && experiments.length === 0) return NO_RULES;
  const compileFor = (environment: Environment): CompiledEnvironment => {
    const own = routes.filter((route) => route.environment === environment);
    const rules = ruleSet.rules.map(({ id, when, then }) => compileRule(id, when, then, own));
    const running = experiments.filter((experiment) => experiment.environment === environment);
    const arms = running.flatMap((experiment) => ARMS.map((arm) => compileArm(experiment, arm, own)));
    return { rules: [...rules, ...arms], effects: new Map() };
  };
  return { sandbox: compileFor('sandbox'), production: compileFor('production') };
}

/** The effect of the rules on a session: a frozen object, which is cached for sessions to which the same rules apply. */
export function evaluateRules(compiled: CompiledRules, facts: RuleFacts): RuleEffect {
  const { rules, effects } = compiled[facts.environment];
  let applied = '';
  let orderedBy = -1;
  let outcome = 0;
  for (let index = 0; index < rules.length; index += 1) {
    const { matches, ordering, words, actions, experiment } = rules[index]!;
    const setsOrder = ordering !== undefined && (orderedBy < 0 || experiment !== undefined);
    // Only the first ordering and that of an experiment have an effect; other conditions need not be evaluated.
    if (words === '' && !setsOrder) continue;
    if (!matches(facts)) continue;
    applied += `${index} `;
    if (setsOrder) {
      orderedBy = index;
      outcome = ordering.draw?.(facts) ?? 0;
    }
    if (actions.reject !== undefined) break;
  }
  if (applied === '') return NO_EFFECT;
  const key = `${applied}${outcome}`;
  const known = effects.get(key);
  if (known) return known;
  const effect = effectOf(rules, applied.trimEnd().split(' ').map(Number), orderedBy, outcome);
  if (effects.size >= MAX_CACHED_EFFECTS) effects.clear();
  effects.set(key, effect);
  return effect;
}

/** A key of 22 characters for an effect: equal effects have equal keys, and different effects have different keys. */
export function effectKey(effect: RuleEffect): string {
  const known = keys.get(effect);
  if (known !== undefined) return known;
  const key = hash('sha256', JSON.stringify(effect, sorted), 'base64url').slice(0, 22);
  keys.set(effect, key);
  return key;
}

const keys = new WeakMap<RuleEffect, string>();

// An effect from the database may have its properties in another order.
function sorted(_name: string, value: unknown): unknown {
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function effectOf(rules: readonly CompiledRule[], applied: number[], orderedBy: number, outcome: number): RuleEffect {
  const excluded = new Map<string, string>();
  let effect = NO_EFFECT;
  const matched: { id: string; effect: string }[] = [];
  for (const index of applied) {
    const { id, actions, excluded: routes, ordering, words, experiment } = rules[index]!;
    for (const route of routes) if (!excluded.has(route)) excluded.set(route, id);
    const order = index === orderedBy ? ordering : undefined;
    effect = {
      ...effect,
      rejected: actions.reject ?? null,
      explore: actions.explore ?? effect.explore,
      maxAttempts: actions.maxAttempts ?? effect.maxAttempts,
      failover: actions.failover ?? effect.failover,
      margin: actions.margin ?? effect.margin,
      objective: actions.objective ?? effect.objective,
      ordering: order?.outcomes[outcome] ?? effect.ordering,
      ...(experiment && { experiment }),
    };
    const effects = [words, order?.words ?? ''].filter((each) => each !== '');
    if (effects.length > 0) matched.push({ id, effect: effects.join('; ') });
  }
  return deepFrozen({ ...effect, excluded: [...excluded].map(([route, rule]) => ({ route, rule })), matched });
}

function compileRule(id: string, when: Rule['when'], then: RuleActions, routes: readonly Route[]): CompiledRule {
  const allowed = then.only === undefined ? routes : routesOf(then.only, routes);
  const barred = then.exclude === undefined ? [] : routesOf(then.exclude, routes);
  const excluded = routes.filter((route) => !allowed.includes(route) || barred.includes(route));
  return {
    id,
    matches: matcherOf(when),
    actions: then,
    excluded: excluded.map((route) => route.id),
    ordering: orderingOf(id, then, routes),
    words: modifiersInWords(then),
  };
}

/** The last rule of the sessions in an arm; its modifiers replace earlier ones, as those of every later rule do. */
function compileArm(
  { id, share, variant, created }: RoutingExperiment,
  arm: Arm,
  routes: readonly Route[],
): CompiledRule {
  const rule = compileRule(`experiment ${id}`, undefined, arm === 'variant' ? variant : {}, routes);
  return {
    ...rule,
    matches: ({ at, sessionId }) => at >= created && uniformOf(id, sessionId) * 100 < share === (arm === 'variant'),
    words: rule.words === '' ? arm : `${arm}; ${rule.words}`,
    experiment: { experimentId: id, arm },
  };
}

/** The ordering of `routes` by a rule; undefined if the rule has no ordering or names none of them. */
function orderingOf(id: string, then: RuleActions, routes: readonly Route[]): CompiledOrdering | undefined {
  if (then.smart) return { words: 'smart', outcomes: [{ type: 'smart' }] };
  if (then.split) return splitOf(id, then, routes);
  const type = then.priority === undefined ? 'prefer' : 'priority';
  const selector: RouteSelector | undefined = then[type];
  if (selector === undefined) return undefined;
  const ids = routesOf(selector, routes).map((route) => route.id);
  if (ids.length === 0) return undefined;
  return { words: `${type} ${selectorInWords(selector)}`, outcomes: [{ type, routes: ids, rule: id }] };
}

function splitOf(id: string, { split = [], by }: RuleActions, routes: readonly Route[]): CompiledOrdering | undefined {
  const shares = split.filter(({ route }) => routes.some((each) => each.id === route));
  if (shares.length === 0) return undefined;
  let sum = 0;
  const ends = shares.map(({ pct }) => (sum += pct));
  return {
    words: `split ${firstFew(shares.map(({ route, pct }) => `${pct}% ${route}`))}`,
    outcomes: shares.map(({ route }) => ({ type: 'split', head: route, rule: id })),
    draw: ({ customer, sessionId }) => {
      const splitKey = by === 'customer' ? customer.toLowerCase() : sessionId;
      const point = (Math.floor(uniformOf(id, splitKey) * SHARE_STEPS) * sum) / SHARE_STEPS;
      return ends.findIndex((end) => point < end);
    },
  };
}

function modifiersInWords(then: RuleActions): string {
  const { exclude, only, explore, maxAttempts, failover, margin, objective, reject } = then;
  const words = [
    exclude !== undefined && `exclude ${selectorInWords(exclude)}`,
    only !== undefined && `only ${selectorInWords(only)}`,
    explore !== undefined && `explore ${explore ? 'on' : 'off'}`,
    maxAttempts !== undefined && `at most ${maxAttempts} ${maxAttempts === 1 ? 'attempt' : 'attempts'}`,
    failover !== undefined && `failover ${failover}`,
    margin !== undefined && `margin ${margin}`,
    objective !== undefined && `objective ${objective}`,
    reject !== undefined && `reject ${reject}`,
  ];
  return words.filter((each) => each !== false).join('; ');
}
