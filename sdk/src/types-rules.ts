import type { KycPolicy } from './types-agent.ts';
import type { RouteKind } from './types.ts';

/** An operator's rules about routes, first to last: at most 200. */
export interface RuleSet {
  /** The language of the rules. */
  version: 1;
  rules: Rule[];
}

export interface Rule {
  /** Names the rule in every explanation: 1 to 64 of a-z, 0-9, hyphen and underscore; each only once. */
  id: string;
  /** When the rule applies; without it, always. */
  when?: RuleCondition | undefined;
  /** What it does: any number of modifiers and at most one of priority, prefer, split and smart; or reject alone. */
  then: RuleActions;
}

export interface RuleActions {
  /** Routes that must not be used. */
  exclude?: RouteSelector | undefined;
  /** The only routes that may be used. */
  only?: RouteSelector | undefined;
  /** false: always the best known route, never one tried out to learn. */
  explore?: boolean | undefined;
  /** How many routes one start of a payment may try, 1 to 3. */
  maxAttempts?: number | undefined;
  /** Which routes may follow one that refuses. */
  failover?: 'same_kind' | 'any' | 'none' | undefined;
  /** What a paid order earns, as a fraction of its amount: 0.15 lets fees weigh more. */
  margin?: number | undefined;
  /** Whose cost counts. */
  objective?: Objective | undefined;
  /** Strict order. */
  priority?: RouteSelector | undefined;
  /** These before all others. */
  prefer?: RouteSelector | undefined;
  /** Shares of sessions that go to a route first, in whole percent; they add up to 100. */
  split?: { route: string; pct: number }[] | undefined;
  /** What a split draws by: each session anew (the default), or each customer once for all. */
  by?: 'session' | 'customer' | undefined;
  /** The router orders; what happens without any ordering rule. */
  smart?: true | undefined;
  /** Refuses the session with this code: lower-case words joined by underscores. */
  reject?: string | undefined;
}

/** `merchant`: that of buyer and merchant. `total`: what the provider charges. `operator`: that of the gateway. */
export type Objective = 'merchant' | 'total' | 'operator';

/** Routes by id, or by what they have in common; every attribute must fit, one of several values is enough. */
export type RouteSelector = string | readonly string[] | RouteAttributes;

export interface RouteAttributes {
  kind?: RouteKind | readonly RouteKind[];
  integrationId?: string | readonly string[];
  network?: string | readonly string[];
  asset?: string | readonly string[];
  kycPolicy?: KycPolicy | readonly KycPolicy[];
}

/**
 * When a rule applies: every field and every connective in it must hold. Fields: amount (US dollars), currency,
 * environment, preferredKind, product, customer, clientReferenceId, hour (0 to 23), weekday (`mon` to `sun`), and
 * `metadata.<key>`. A value is equality, an array is one of, an object holds operators.
 */
export interface RuleCondition {
  all?: readonly RuleCondition[];
  any?: readonly RuleCondition[];
  not?: RuleCondition;
  [field: string]: RuleTest | readonly RuleCondition[] | RuleCondition | undefined;
}

export type RuleValue = string | number;
export type RuleTest = RuleValue | readonly RuleValue[] | RuleOperators;

/** All of them must hold. Amounts are in US dollars. */
export interface RuleOperators {
  eq?: RuleValue;
  ne?: RuleValue;
  in?: readonly RuleValue[];
  nin?: readonly RuleValue[];
  gt?: number;
  gte?: number;
  lt?: number;
  lte?: number;
  prefix?: string;
  suffix?: string;
  exists?: boolean;
}
