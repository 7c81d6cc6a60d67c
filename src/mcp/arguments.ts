import type { JsonSchema } from '../contract/json-schema.ts';

const SENT = 'sent';

/** Wraps tool arguments, because the MCP package rejects non-objects and drops `__proto__` before the operation can validate. */
export function wrapArguments(message: unknown): unknown {
  if (!isRecord(message) || message['method'] !== 'tools/call') return message;
  const { params } = message;
  if (!isRecord(params) || params['arguments'] === undefined) return message;
  return { ...message, params: { ...params, arguments: { [SENT]: params['arguments'] } } };
}

/** Returns the original input of a tool. Absent arguments are `{}`, like an absent body over REST. */
export function unwrapArguments(wrapped: unknown): unknown {
  return isRecord(wrapped) && SENT in wrapped ? wrapped[SENT] : {};
}

/** Removes null fields, which hosts with strict schemas send for every field that the model omits. */
export function withoutNulls(input: unknown, { properties, additionalProperties }: JsonSchema): unknown {
  if (!isRecord(input)) return input;
  const others = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  return Object.fromEntries(
    Object.entries(input).flatMap(([name, value]) => {
      const schema = properties && Object.hasOwn(properties, name) ? properties[name] : others;
      if (!schema) return [[name, value]];
      return value === null && !takesNull(schema) ? [] : [[name, withoutNulls(value, schema)]];
    }),
  );
}

function takesNull({ type }: JsonSchema): boolean {
  return [type].flat().includes('null');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
