import { GatewayError, type Issue } from './gateway-error.ts';

// Larger than the number of fields of any request. Limits the size of the response to a body with very many problems.
const MAX_NAMED = 50;

export interface Problem extends Issue {
  /** Instruction to fix the problem, such as `set amount to ..., for example 49.99`. */
  remedy: string;
}

/** An `invalid_input` error that lists problems in their order, each with its remedy. `hint` is appended to the suggestion. */
export function invalidInput(all: readonly Problem[], hint = ''): GatewayError {
  const problems = all.slice(0, MAX_NAMED);
  const remedies = problems.map(({ remedy }) => remedy).join('; ');
  const instruction = `${remedies.charAt(0).toUpperCase()}${remedies.slice(1)}; then resend.`;
  const count = all.length === 1 ? '' : ` (${all.length} problems in all)`;
  return new GatewayError('invalid_input', `${problems[0]!.path}: ${problems[0]!.message}${count}.`, {
    field: problems[0]!.path,
    suggestion: hint === '' ? instruction : `${instruction} ${hint}`,
    issues: problems.map(({ path, code, message }) => ({ path, code, message })),
  });
}

/** The value at a path of the input; undefined if there is none. */
export function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  let current = input;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = (current as Record<PropertyKey, unknown>)[key];
  }
  return current;
}
