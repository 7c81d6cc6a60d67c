import {
  type JsonSchemaValidator,
  type StandardSchemaWithJSON,
  type Tool as ListedTool,
  fromJsonSchema,
  type jsonSchemaValidator,
} from '@modelcontextprotocol/server';
import { type JsonSchema, jsonSchemaOf } from '../contract/json-schema.ts';
import type { ActionError } from '../contract/error-contract.ts';
import type { RandomBytes } from '../domain/id.ts';
import type { Annotations, Operation } from '../operations/operation.ts';
import { OPERATIONS, TOOLS } from '../operations/registry.ts';
import { SAMPLE_PROVIDER_SECRET } from '../operations/webhook-samples.ts';
import { toolName } from './tool-names.ts';

/** Result of a tool call, in the form of the response body of an action in the REST API. */
export type Envelope =
  { ok: true; action: string; result: unknown } | { ok: false; action: string; error: ActionError };

type Listed = Pick<ListedTool, 'name' | 'inputSchema'> & { outputSchema: NonNullable<ListedTool['outputSchema']> };

/** An operation as an MCP tool; `schema` is the JSON Schema of its input. */
export interface Tool {
  operation: Operation;
  schema: JsonSchema;
  /** The entry of the tool in `tools/list`. */
  listed: Listed & { title: string; description: string; annotations: Annotations };
}

/** Implementation of the tools: in the service, the operations; in `tillway mcp`, requests to a service. */
export interface Backend {
  tools: readonly Tool[];
  /** Returns the entries of the tools that the caller's key may call. */
  list(): Promise<Pick<ListedTool, 'name' | 'inputSchema'>[]>;
  randomBytes: RandomBytes;
  /** Runs an operation with the input of the caller. Returns errors as envelopes, too. */
  run(operation: Operation, sent: unknown): Promise<Envelope>;
}

/** Creates the descriptions of all tools, in a fixed order. `lifetime` is the time until a session expires, as text. */
export function describeTools(lifetime: string): readonly Tool[] {
  return TOOLS.map((operation) => {
    const { name, annotations } = operation;
    const schema = jsonSchemaOf(operation.input, 'input');
    return {
      operation,
      schema,
      listed: {
        name: toolName(name),
        title: name,
        description: descriptionOf(operation, lifetime),
        inputSchema: schema as Listed['inputSchema'],
        outputSchema: envelopeSchema(operation) as Listed['outputSchema'],
        annotations,
      },
    };
  });
}

/** JSON Schema of the envelope of an operation, for success and error. */
function envelopeSchema({ name, output }: Operation): JsonSchema {
  const { properties, required = [] } = jsonSchemaOf(output, 'output');
  const statuses = properties?.['status']?.enum;
  // Contains only the required fields and the statuses, because the complete schemas of all tools would fill much of a model's
  // context. The resource `gateway://schema/{operation}` has the complete schemas.
  const result = { type: 'object', ...(statuses && { properties: { status: { enum: statuses } } }), required };
  return {
    type: 'object',
    properties: { ok: { type: 'boolean' }, action: { const: name }, result, error: { type: 'object' } },
    required: ['ok', 'action'],
  };
}

/** Validator that accepts every input, because the operation validates the input itself, with better messages than the package. */
export const ACCEPT_ALL: jsonSchemaValidator = {
  getValidator: <Value>(): JsonSchemaValidator<Value> => {
    return (value) => ({ valid: true, data: value as Value, errorMessage: undefined });
  },
};

/** Converts a JSON Schema to the format of the package. The package lists the schema, but does not validate with it. */
export function advertisedSchema(schema: object): StandardSchemaWithJSON {
  return fromJsonSchema({ ...schema }, ACCEPT_ALL);
}

// The description contains the sample secret, although the resources do too, because some hosts give models no access to resources.
const SIGNING = `To sign: signature is t=<unix seconds>,v1=<hex HMAC-SHA256 of t, a full stop and payload as compact JSON in the key order sent, without null fields>, keyed with the text ${SAMPLE_PROVIDER_SECRET} (webhooks.verifySample). `;

const NAMES = [...OPERATIONS.keys(), ...TOOLS.map(({ name }) => name)].filter((name) => name.includes('.'));
const NAME = new RegExp(`\\b(?:${NAMES.map((name) => name.replace('.', String.raw`\.`)).join('|')})\\b`, 'g');

function descriptionOf({ name, description, next }: Operation, lifetime: string): string {
  const more: Record<string, string> = {
    'checkout.create': `The session waits ${lifetime} for its buyer, then it expires permanently. `,
    'webhook.verify_sample': SIGNING,
  };
  const text = `${description} ${more[name] ?? ''}Next: ${next}`;
  // Replaces the REST names in the descriptions of the registry with tool names and resource names.
  return text
    .replaceAll('getPayment', 'payment_get')
    .replace(/\bwebhooks\.(\w+)/g, 'webhooks.$1 of gateway://capabilities')
    .replace(NAME, toolName);
}
