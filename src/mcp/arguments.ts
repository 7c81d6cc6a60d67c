import type { JsonSchema } from '../contract/json-schema.ts';
import { isRecord } from '../domain/is-record.ts';

const SENT = 'sent';

/** Wraps the arguments of a tool call, because the MCP package would reject non-objects and drop `__proto__` before validation. */
export function wrapArguments(message: unknown): unknown {
  if (!isRecord(message) || message['method'] !== 'tools/call') return message;
  const { params } = message;
  if (!isRecord(params) || params['arguments'] === undefined) return message;
  return { ...message, params: { ...params, arguments: { [SENT]: params['arguments'] } } };
}

/** Returns the input that the client sent to a tool. Absent arguments count as `{}`, like an absent body in the REST API. */
export function unwrapArguments(wrapped: unknown): unknown {
  return isRecord(wrapped) && SENT in wrapped ? wrapped[SENT] : {};
}

/** Removes null fields that the schema does not allow: hosts with strict schemas send null for every field that the model omits. */
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
