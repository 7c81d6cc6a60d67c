import type { Issue } from '../domain/gateway-error.ts';
import { ENVIRONMENTS, type Environment, type Route } from '../domain/route.ts';
import { exclusionsOf, orderingOf } from './evaluate-rules.ts';
import type { RuleFault } from './rule-fields.ts';
import { conditionCertainty } from './rule-matching.ts';
import { faultsOf, issueOf, refusalOf } from './rule-problems.ts';
import { idFaults, selectorCatalogueFaults } from './rule-selectors.ts';
import { MAX_RULES, ORDERINGS, type Rule, type RuleSet, ruleSchema, ruleSetSchema } from './rule-set.ts';

/** A valid rule set, with warnings. */
export interface CheckedRules {
  ruleSet: RuleSet;
  /** Issues of rules that are valid but probably not intended, in the order of the rules. */
  warnings: Issue[];
}

/** Validates a rule set. Throws GatewayError `invalid_input` with all problems: wrong structure, unknown names, no route left. */
export function checkRules(input: unknown, routes: readonly Route[]): CheckedRules {
  const result = ruleSetSchema.safeParse(input);
  const shapeFaults = result.success ? [] : faultsOf(result.error.issues);
  const rules = rulesIn(input);
  const faults = [
    ...shapeFaults,
    ...duplicateIds(rules),
    ...rules.flatMap((rule, index) => {
      const { data: valid } = ruleSchema.safeParse(rule);
      return valid ? catalogueFaults(valid, routes).map((fault) => within(index, fault)) : [];
    }),
  ];
  if (!result.success || faults.length > 0) throw refusalOf(faults.toSorted(byRule), input);
  const ruleSet = result.data;
  const surveys = ENVIRONMENTS.map((environment) => surveyOf(ruleSet.rules, environment, routes));
  const exhausted = surveys.flatMap((survey) => survey.faults);
  if (exhausted.length > 0) throw refusalOf(exhausted.toSorted(byRule), input);
  const warnings = [...surveys.flatMap((survey) => survey.warnings), ...deadParts(ruleSet.rules, surveys)];
  return { ruleSet, warnings: warnings.toSorted(byRule).map((warning) => issueOf(warning, input)) };
}

function rulesIn(input: unknown): unknown[] {
  if (typeof input !== 'object' || input === null || !('rules' in input)) return [];
  return Array.isArray(input.rules) ? input.rules.slice(0, MAX_RULES) : [];
}

function duplicateIds(rules: readonly unknown[]): RuleFault[] {
  const ids = rules.map((rule) => (typeof rule === 'object' && rule !== null && 'id' in rule ? rule.id : undefined));
  return ids.flatMap((id, index): RuleFault[] => {
    if (typeof id !== 'string' || ids.indexOf(id) === index) return [];
    const remedy = 'give each rule an id of its own';
    return [{ path: ['rules', index, 'id'], code: 'duplicate_id', message: 'is the id of an earlier rule', remedy }];
  });
}

/** Faults for names in a rule that the catalogue does not have. Paths are relative to the rule. */
function catalogueFaults({ then }: Rule, routes: readonly Route[]): RuleFault[] {
  const selected = (['exclude', 'only', 'priority', 'prefer'] as const).flatMap((name) => {
    const selector = then[name];
    if (selector === undefined) return [];
    return selectorCatalogueFaults(selector, routes).map((fault) => ({
      ...fault,
      path: ['then', name, ...fault.path],
    }));
  });
  return then.split ? [...selected, ...splitFaults(then.split, routes)] : selected;
}

function splitFaults(split: NonNullable<Rule['then']['split']>, routes: readonly Route[]): RuleFault[] {
  const path = ['then', 'split'];
  const faults = split.flatMap(({ route }, index): RuleFault[] => {
    const place = [...path, index, 'route'];
    if (split.findIndex((share) => share.route === route) === index) return idFaults(route, place, routes);
    return [{ path: place, code: 'duplicate_route', message: 'is a duplicate', remedy: 'give each route one share' }];
  });
  const sum = split.reduce((total, { pct }) => total + pct, 0);
  if (sum !== 100) {
    const message = `adds up to ${sum}, not to 100`;
    faults.push({ path, code: 'not_100_percent', message, remedy: 'let pct add up to 100' });
  }
  const named = routes.filter(({ id }) => split.some(({ route }) => route === id));
  if (new Set(named.map(({ environment }) => environment)).size > 1) {
    const message = 'has routes of both environments, but a session can use only one environment';
    faults.push({ path, code: 'mixed_environments', message, remedy: 'make a rule for each environment' });
  }
  return faults;
}

/** Map from the index of a rule to the id of an earlier rule that supersedes it, if any. Rules that never apply are absent. */
type Standing = Map<number, string | undefined>;

/** Analysis of all rules together in one environment. */
interface Survey {
  faults: RuleFault[];
  warnings: RuleFault[];
  rules: Standing;
  orderings: Standing;
}

function surveyOf(rules: readonly Rule[], environment: Environment, routes: readonly Route[]): Survey {
  const survey: Survey = { faults: [], warnings: [], rules: new Map(), orderings: new Map() };
  const all = routes.filter((route) => route.environment === environment);
  if (all.length === 0) return survey;
  const excluded = new Set<Route>();
  let rejectedBy: string | undefined;
  let orderedBy: string | undefined;
  for (const [index, { id, when, then }] of rules.entries()) {
    const certain = conditionCertainty(when, environment);
    if (certain === false) continue;
    survey.rules.set(index, rejectedBy);
    const taken = exclusionsOf(then, all);
    const before = excluded.size;
    if (certain) for (const route of taken) excluded.add(route);
    if (excluded.size === all.length && before < all.length) survey.faults.push(exhaustion(index, then, environment));
    if (taken.length === all.length) {
      const message = `leaves no route of ${environment} if it applies, so that such sessions are refused`;
      survey.warnings.push({ path: ['rules', index, 'then'], code: 'no_route_left', message });
    }
    const orders = orderingOf(id, then, all) !== undefined;
    if (orders) survey.orderings.set(index, orderedBy);
    if (certain && orders) orderedBy ??= id;
    if (!certain || then.reject === undefined || rejectedBy !== undefined) continue;
    rejectedBy = id;
    const message = `rejects every session of ${environment}`;
    survey.warnings.push({ path: ['rules', index, 'then', 'reject'], code: 'rejects_all', message });
  }
  return survey;
}

function exhaustion(index: number, then: Rule['then'], environment: Environment): RuleFault {
  const path = ['rules', index, 'then', then.only === undefined ? 'exclude' : 'only'];
  const remedy = `leave a route of ${environment}, or limit the rule to some sessions with "when"`;
  return { path, code: 'no_route_left', message: `leaves no route of ${environment}, for any session`, remedy };
}

/** Rules and orderings without effect in any environment. */
function deadParts(rules: readonly Rule[], surveys: readonly Survey[]): RuleFault[] {
  const standings = surveys.map((survey) => survey.rules);
  const orderings = surveys.map((survey) => survey.orderings);
  return rules.flatMap((rule, index): RuleFault[] => {
    const path = ['rules', index];
    const rejectedBy = supersededBy(standings, index);
    if (rejectedBy !== undefined) {
      const message = `is never reached: rule ${rejectedBy} rejects every session before it`;
      return [{ path, code: 'dead_rule', message }];
    }
    const name = ORDERINGS.find((each) => rule.then[each] !== undefined);
    if (!name) return [];
    const dead = { path: [...path, 'then', name], code: 'dead_ordering' };
    if (!orderings.some((ordering) => ordering.has(index))) {
      return [{ ...dead, message: 'has no effect: none of its routes is available when the rule applies' }];
    }
    const orderedBy = supersededBy(orderings, index);
    return orderedBy === undefined
      ? []
      : [{ ...dead, message: `has no effect: rule ${orderedBy} always orders the routes before it` }];
  });
}

function supersededBy(standings: readonly Standing[], index: number): string | undefined {
  const earlier = standings.filter((standing) => standing.has(index)).map((standing) => standing.get(index));
  return earlier.includes(undefined) ? undefined : earlier[0];
}

function within(index: number, fault: RuleFault): RuleFault {
  return { ...fault, path: ['rules', index, ...fault.path] };
}

function byRule(a: RuleFault, b: RuleFault): number {
  const [left, right] = [a.path[1] ?? -1, b.path[1] ?? -1];
  return Number(left) - Number(right);
}
