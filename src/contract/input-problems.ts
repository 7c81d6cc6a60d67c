import type { z } from 'zod';
import { type Problem, invalidInput, valueAt } from '../domain/invalid-input.ts';
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts';
import { faultOfPair, fieldAt, isFraction, remedyOf } from './input-remedies.ts';

const MAX_QUOTED_LENGTH = 80;
/** Formats that the description of the field explains better than the message of the parser. */
const DESCRIBED_FORMATS = new Set(['email', 'datetime']);
const EXPECTED = /^must be ((?:an|the|a route|one of) .*)/;
const FORBIDDEN = /^(?:must|is) not /;
const PLAIN_KEY = /^[A-Za-z0-9_-]{1,80}$/;

type Source = 'body' | 'query';

/** Parser of input by one schema. */
export interface InputReader<Output> {
  /** Returns the parsed input or throws GatewayError `invalid_input` with all problems. `hint` is appended to the suggestion. */
  read(input: unknown, hint?: string): Output;
}

/** Creates a parser of input, whose errors name every problem with a remedy. A query contains an array for a repeated parameter. */
export function inputReader<Schema extends z.ZodType>(
  schema: Schema,
  source: Source = 'body',
): InputReader<z.output<Schema>> {
  // JSON Schema for the error texts. Computed at the first error, because valid input does not need it.
  let described: JsonSchema | undefined;
  return {
    read(input, hint = '') {
      const result = schema.safeParse(input);
      if (result.success) return result.data;
      described ??= jsonSchemaOf(schema, 'input');
      throw invalidInput(problemsOf(result.error.issues, described, input, source), hint);
    },
  };
}

function problemsOf(issues: z.core.$ZodIssue[], schema: JsonSchema, input: unknown, source: Source): Problem[] {
  const seen = new Set<string>();
  const problems = issues.flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownKey([...issue.path, key]));
    }
    return [problemOf(issue, schema, input, source)];
  });
  const isRemoved = ({ path, remedy }: Problem) => remedy === `remove ${path}`;
  const removed = new Set(problems.filter(isRemoved).map(({ path }) => path));
  return problems.filter((problem) => {
    const { path, code } = problem;
    // If a field must be removed, reports only that.
    if (removed.has(path) && !isRemoved(problem)) return false;
    const key = `${path} ${code}`;
    return seen.has(key) ? false : seen.add(key);
  });
}

function unknownKey(keys: PropertyKey[]): Problem {
  const path = dotted(keys);
  return {
    path,
    code: 'unrecognized_keys',
    message: 'is not a field of this request',
    remedy: `remove ${path}`,
  };
}

function problemOf(issue: z.core.$ZodIssue, schema: JsonSchema, input: unknown, source: Source): Problem {
  const path = dotted(issue.path);
  const field = fieldAt(schema, issue.path);
  const expected = wordsOf(issue) ?? expectation(field.schema);
  const received = valueAt(input, issue.path);
  if (received === null && !field.isRequired) {
    return {
      path,
      code: 'invalid_type',
      message: `must be ${expected}, not null: omit this field`,
      remedy: `remove ${path}`,
    };
  }
  if (source === 'query' && Array.isArray(received)) {
    const message = `must be given once, not ${received.length} times`;
    return { path, code: codeOf(issue), message, remedy: `give ${path} once` };
  }
  const reason = reasonOf(issue, expected);
  return {
    path,
    code: codeOf(issue),
    message: `${reason}${faultOfPair(issue) || FORBIDDEN.test(reason) ? '' : quoted(received)}`,
    remedy: remedyOf(issue, { ...field, path, expected, received, input }),
  };
}

function codeOf(issue: z.core.$ZodIssue): string {
  if (issue.code !== 'custom') return issue.code;
  const { issueCode } = issue.params ?? {};
  return typeof issueCode === 'string' ? issueCode : issue.code;
}

/** The expected value according to a custom check: the part of its message after "must be". */
function wordsOf(issue: z.core.$ZodIssue): string | undefined {
  return issue.code === 'custom' || issue.code === 'invalid_format' ? EXPECTED.exec(issue.message)?.[1] : undefined;
}

function reasonOf(issue: z.core.$ZodIssue, expected: string): string {
  if (faultOfPair(issue)) return issue.message;
  if (issue.code === 'not_multiple_of') return 'must have at most two decimals';
  const isDescribed = issue.code === 'invalid_format' && DESCRIBED_FORMATS.has(issue.format);
  if (!isDescribed && (issue.code === 'invalid_format' || issue.code === 'custom')) return issue.message;
  return `must be ${expected}`;
}

/** Description of the type and limits of a field: "a string of 1 to 120 characters". */
function expectation(schema: JsonSchema): string {
  if (schema.const !== undefined) return inJson(schema.const);
  if (schema.enum) return `one of ${schema.enum.map(String).join(', ')}`;
  const nullable = Array.isArray(schema.type) && schema.type.includes('null') ? ' or null' : '';
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  return `${typeInWords(type, schema)}${nullable}`;
}

function typeInWords(type: string | undefined, schema: JsonSchema): string {
  const { minLength, maxLength, exclusiveMinimum, minimum, maximum } = schema;
  switch (type) {
    case 'number': {
      const range = minimum === undefined ? `greater than ${exclusiveMinimum ?? 0} and at most` : `of ${minimum} to`;
      // The shortest form of a large limit lacks the second decimal: 90071992547409.9 is 9007199254740991 cents.
      const most = maximum?.toFixed(Number.isInteger(maximum) ? 0 : 2) ?? 'any';
      return `a number ${range} ${most}${isFraction(schema) ? '' : ', with at most two decimals'}`;
    }
    case 'integer':
      return `a whole number of ${minimum ?? 0} ${maximum === undefined ? 'or more' : `to ${maximum}`}`;
    case 'array':
      return 'an array';
    case 'string': {
      if (schema.format === 'email') return `an email address of at most ${maxLength} characters`;
      if (schema.format === 'uri') return `an absolute URI of at most ${maxLength} characters`;
      if (schema.format === 'date-time') return 'a time with its zone, such as 2027-01-15T12:00:00Z';
      if (schema.pattern !== undefined) return `a string that matches ${schema.pattern}`;
      if (maxLength === undefined) return 'a string';
      return minLength
        ? `a string of ${minLength} to ${maxLength} characters`
        : `a string of at most ${maxLength} characters`;
    }
    case 'object':
      if (schema.properties) {
        const names = Object.keys(schema.properties);
        return names.length === 0 ? 'an empty object' : `an object with ${names.join(', ')}`;
      }
      return `an object of ${schema.maxProperties === undefined ? '' : `at most ${schema.maxProperties} `}strings: keys 1 to 500 characters, values at most 500`;
    case 'boolean':
      return 'true or false';
    default:
      return 'one JSON object';
  }
}

// Quotes only short simple values, because a longer value could put third-party text into instructions for a program.
function quoted(value: unknown): string {
  if (value === undefined) return '; it is missing';
  if (typeof value === 'object' && value !== null) return '';
  const json = inJson(value);
  return json.length <= MAX_QUOTED_LENGTH ? `, not ${json}` : '';
}

function dotted(path: PropertyKey[]): string {
  if (path.length === 0) return 'body';
  return path.map((key) => quotedKey(String(key))).join('.');
}

function quotedKey(key: string): string {
  if (PLAIN_KEY.test(key)) return key;
  return inJson(key.length <= MAX_QUOTED_LENGTH ? key : `${key.slice(0, MAX_QUOTED_LENGTH)}...`);
}

/** JSON with invisible and bidirectional control characters escaped. */
function inJson(value: unknown): string {
  const json = JSON.stringify(value) ?? '';
  return json.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
    }).join(''),
  );
}
