import { z } from 'zod';
import { isRecord } from '../domain/is-record.ts';
import { KYC_POLICIES, ROUTE_KINDS } from '../domain/route.ts';
import { type Condition, conditionFaults } from './rule-conditions.ts';
import type { RuleFault } from './rule-faults.ts';
import { FIELD_NAMES, fieldNamed } from './rule-fields.ts';
import { type RouteSelector, selectorShapeFaults } from './rule-selectors.ts';

/** Maximum number of rules in a set. */
export const MAX_RULES = 200;
const MAX_SHARES = 100;
const MAX_REASON_LENGTH = 64;
export const ORDERINGS = ['priority', 'prefer', 'split', 'smart'] as const;

/** A Zod check that runs hand-written code, in which every fault has its own path and message. */
function checkedBy(faultsOf: (value: unknown) => RuleFault[]) {
  return (context: { value: unknown; issues: z.core.$ZodRawIssue[] }): void => {
    for (const { path, code, message, remedy } of faultsOf(context.value)) {
      context.issues.push({ code: 'custom', message, path, params: { issueCode: code, remedy }, input: context.value });
    }
  };
}

const condition = z
  .custom<Condition>()
  .check(checkedBy(conditionFaults))
  .describe(
    'Condition of the rule; without it, the rule always applies. All fields must hold. A value means equal, an array one of, an object holds operators: eq ne in nin gt gte lt lte prefix suffix exists. all, any and not combine conditions, at most 8 deep.',
  )
  .meta({
    type: 'object',
    minProperties: 1,
    properties: {
      ...Object.fromEntries(FIELD_NAMES.map((name) => [name, { description: `${fieldNamed(name)?.wanted}.` }])),
      all: { type: 'array', description: 'Conditions that must all hold.', items: { type: 'object' } },
      any: { type: 'array', description: 'Conditions of which one must hold.', items: { type: 'object' } },
      not: { type: 'object', description: 'A condition that must not hold.' },
    },
    patternProperties: { '^metadata\\..+$': { description: 'A value of metadata: a string.' } },
    additionalProperties: false,
    examples: [{ amount: { gte: 200 }, 'metadata.country': ['DE', 'FR'] }],
  });

const oneOrMore = (value: object) => ({ anyOf: [value, { type: 'array', minItems: 1, maxItems: 100, items: value }] });

export const routeSelector = z
  .custom<RouteSelector>()
  .check(checkedBy(selectorShapeFaults))
  .describe('A route id, an array of route ids, or route attributes.')
  .meta({
    anyOf: [
      ...oneOrMore({ type: 'string' }).anyOf,
      {
        type: 'object',
        minProperties: 1,
        properties: {
          kind: oneOrMore({ enum: ROUTE_KINDS }),
          integrationId: oneOrMore({ type: 'string' }),
          network: oneOrMore({ type: 'string' }),
          asset: oneOrMore({ type: 'string' }),
          kycPolicy: oneOrMore({ enum: KYC_POLICIES }),
        },
        additionalProperties: false,
      },
    ],
    examples: [{ kind: 'card' }],
  });

const choice = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, `must be one of ${values.join(', ')}`);

function whole(min: number, max: number) {
  const error = `must be a whole number of ${min} to ${max}`;
  return z.int(error).min(min, error).max(max, error);
}

const flag = z.boolean('must be true or false');

const MARGIN = 'must be a number greater than 0 and at most 1';
const margin = z.number(MARGIN).gt(0, MARGIN).max(1, MARGIN);

const REASON = `must be lower-case words joined by underscores, at most ${MAX_REASON_LENGTH} characters`;
const reason = z
  .string(REASON)
  .max(MAX_REASON_LENGTH, REASON)
  .regex(/^[a-z][a-z0-9]*(?:_[a-z0-9]+)*$/, REASON);

const share = z.strictObject(
  {
    route: z
      .string('must be the id of a route')
      .describe('The id of a route.')
      .meta({ examples: ['sandbox_card_acquirer'] }),
    pct: whole(1, 100)
      .describe('Its share of the sessions, in whole percent.')
      .meta({ examples: [100] }),
  },
  'must be an object with route and pct',
);
const SHARES = `must be an array of 1 to ${MAX_SHARES} objects with route and pct`;
const split = z.array(share, SHARES).min(1, SHARES).max(MAX_SHARES, SHARES);

/** Options of a check of all effects together, which runs even if the check of a single effect has failed. */
function together(error: string, issueCode: string, remedy: string) {
  return { error, params: { issueCode, remedy }, when: ({ value }: { value: unknown }) => isRecord(value) };
}

const actions = z
  .strictObject(
    {
      exclude: routeSelector.describe('Routes that must not be used.').optional(),
      only: routeSelector.describe('The only routes that may be used.').optional(),
      explore: flag.optional().describe('false: no exploration, always the best known route.'),
      maxAttempts: whole(1, 3).optional().describe('Maximum number of routes for one start of a payment, 1 to 3.'),
      failover: choice(['same_kind', 'any', 'none'])
        .optional()
        .describe('Routes allowed after a refused handoff: of the same kind, of any kind, or none.'),
      margin: margin
        .optional()
        .describe('Margin of a paid order, as a share of its amount; the lower, the more fees weigh.'),
      objective: choice(['merchant', 'total', 'operator'])
        .optional()
        .describe('Cost to minimise: of buyer and merchant, of the provider, or of the gateway operator.'),
      priority: routeSelector.describe('Strict order of the routes.').optional(),
      prefer: routeSelector.describe('Routes that come before all others.').optional(),
      split: split.optional().describe('Shares of sessions that go to a route first; they add up to 100.'),
      by: choice(['session', 'customer'])
        .optional()
        .describe('Unit of the split: each session (the default), or each customer.'),
      smart: z
        .literal(true, 'must be true')
        .optional()
        .describe('Lets the router order the routes, as without any ordering rule.'),
      reject: reason
        .optional()
        .describe('Refuses the session with this code.')
        .meta({ examples: ['blocked_customer'] }),
    },
    'must be an object of effects',
  )
  .refine(
    (then) => Object.keys(then).some((name) => name !== 'by'),
    together('has no effect', 'too_small', 'name at least one effect, for example {"smart":true}'),
  )
  .refine(
    (then) => ORDERINGS.filter((name) => then[name] !== undefined).length <= 1,
    together(`has more than one of ${ORDERINGS.join(', ')}`, 'too_big', 'keep one of them, or make a rule of each'),
  )
  .refine(
    (then) => then.reject === undefined || Object.keys(then).length === 1,
    together('has other effects besides reject, which ends the checkout', 'too_big', 'keep reject alone'),
  )
  .refine((then) => then.by === undefined || then.split !== undefined, {
    ...together('requires split, which is missing', 'unrecognized_keys', 'remove it, or add split'),
    path: ['by'],
  });

const ID = 'must be 1 to 64 of a-z, 0-9, hyphen and underscore, the first a letter or digit';

export const ruleSchema = z.strictObject(
  {
    id: z
      .string(ID)
      .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, ID)
      .describe('Unique name of the rule, shown in explanations.')
      .meta({ examples: ['cards-first'] }),
    when: condition.optional(),
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of the rule language; a schema is never awaited
    then: actions
      .describe('Effect of the rule: any number of modifiers and at most one ordering, or reject alone.')
      .meta({
        examples: [{ prefer: { kind: 'card' } }],
      }),
  },
  'must be an object with id, when and then',
);

const RULES = `must be an array of at most ${MAX_RULES} rules`;

/** Schema of an operator's routing rules. `checkRules` also checks them against the catalogue. */
export const ruleSetSchema = z.strictObject(
  {
    version: z.literal(1, 'must be 1').describe('Version of the rule language: 1.'),
    rules: z.array(ruleSchema, RULES).max(MAX_RULES, RULES).describe('Rules in the order of evaluation, at most 200.'),
  },
  'must be an object with version and rules',
);

export type RuleSet = z.output<typeof ruleSetSchema>;
export type Rule = RuleSet['rules'][number];
/** Effects of a rule. */
export type RuleActions = Rule['then'];
export type Failover = NonNullable<RuleActions['failover']>;
