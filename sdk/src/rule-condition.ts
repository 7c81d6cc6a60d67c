/**
 * Condition of a routing rule. All its fields, `all`, `any` and `not` must hold. Fields: amount (US dollars), currency,
 * environment, preferredKind, product, customer, clientReferenceId, hour (0 to 23), weekday (`mon` to `sun`), and
 * `metadata.<key>`. A plain value must be equal, an array lists the accepted values, and an object contains operators.
 */
export interface RuleCondition {
  all?: readonly RuleCondition[];
  any?: readonly RuleCondition[];
  not?: RuleCondition;
  [field: string]: RuleTest | readonly RuleCondition[] | RuleCondition | undefined;
}

export type RuleValue = string | number;
export type RuleTest = RuleValue | readonly RuleValue[] | RuleOperators;

/** Operators on a field, which must all hold. Amounts are in US dollars. */
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
