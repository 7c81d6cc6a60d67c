import type { z } from 'zod';
import type { GatewayError, Issue } from '../domain/gateway-error.ts';
import { invalidInput, valueAt } from '../domain/invalid-input.ts';
import type { RuleFault } from './rule-faults.ts';

const MAX_QUOTED_LENGTH = 80;
const PLAIN_KEY = /^[A-Za-z0-9_-]{1,80}$/;

const MUST_BE = /^must be /;
/** Codes of well-formed but wrong names; the message quotes the name. */
const NAME_CODES = new Set(['unknown_route', 'unknown_attribute', 'duplicate_route', 'duplicate_id']);

/** Faults that Zod found in a rule set. */
export function faultsOf(issues: readonly z.core.$ZodIssue[]): RuleFault[] {
  return issues.flatMap((issue): RuleFault[] => {
    const { path } = issue;
    if (issue.code === 'unrecognized_keys') {
      const message = 'is not a property of this object';
      return issue.keys.map((key) => ({ path: [...path, key], code: issue.code, message, remedy: 'remove it' }));
    }
    if (issue.code !== 'custom') return [{ path, code: issue.code, message: issue.message }];
    // Every check of a rule set gives its own code and, if the message is not enough, a remedy.
    const { issueCode, remedy } = issue.params as { issueCode: string; remedy?: string };
    return [{ path, code: issueCode, message: issue.message, ...(remedy !== undefined && { remedy }) }];
  });
}

/** A GatewayError `invalid_input` that lists the faults in the order of the rule set, each with its remedy. */
export function refusalOf(faults: readonly RuleFault[], input: unknown): GatewayError {
  return invalidInput(faults.map((fault) => ({ ...issueOf(fault, input), remedy: remedyOf(fault) })));
}

function remedyOf({ path, message, remedy }: RuleFault): string {
  if (remedy !== undefined) return `at ${dotted(path)}, ${remedy}`;
  return `set ${dotted(path)} to ${message.replace(MUST_BE, '')}`;
}

/** A fault as an issue of the API, with the faulty value if that is short. */
export function issueOf({ path, code, message }: RuleFault, input: unknown): Issue {
  const value = valueAt(input, path);
  if (MUST_BE.test(message)) return { path: dotted(path), code, message: `${message}${quoted(value, ', not ')}` };
  return { path: dotted(path), code, message: NAME_CODES.has(code) ? `${message}${quoted(value, ': ')}` : message };
}

// Quotes only short values: a long or nested value could carry instructions to an agent that reads the message.
function quoted(value: unknown, joint: string): string {
  if (value === undefined) return '; it is missing';
  if (typeof value === 'object' && value !== null) return '';
  const json = JSON.stringify(value);
  return json.length <= MAX_QUOTED_LENGTH ? `${joint}${json}` : '';
}

function dotted(path: RuleFault['path']): string {
  if (path.length === 0) return 'body';
  return path.map((key) => quotedKey(String(key))).join('.');
}

function quotedKey(key: string): string {
  if (PLAIN_KEY.test(key)) return key;
  return JSON.stringify(key.length <= MAX_QUOTED_LENGTH ? key : `${key.slice(0, MAX_QUOTED_LENGTH)}...`);
}
