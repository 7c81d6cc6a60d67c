import type { z } from 'zod';
import { delivery } from './deliveries.ts';
import { type JsonSchema, jsonSchemaOf } from './json-schema.ts';
import { feesEstimateRequest, sessionRequest, verifySampleRequest, webhookExampleRequest } from './requests.ts';
import {
  actionError,
  checkoutResult,
  checkoutSession,
  customer,
  invoice,
  payment,
  routeSummary,
  webhookEvent,
} from './resources.ts';

/** A JSON Schema that may refer to a component of the document. */
export type ApiSchema = JsonSchema & { $ref?: string; allOf?: ApiSchema[] };

const RECEIVED: Record<string, z.ZodType> = {
  CheckoutSession: checkoutSession,
  Customer: customer,
  Payment: payment,
  Invoice: invoice,
  Delivery: delivery,
  CheckoutResult: checkoutResult,
  RouteSummary: routeSummary,
  WebhookEvent: webhookEvent,
  ActionError: actionError,
};
const SENT: Record<string, z.ZodType> = {
  SessionRequest: sessionRequest,
  FeesEstimateRequest: feesEstimateRequest,
  WebhookExampleRequest: webhookExampleRequest,
  VerifySampleRequest: verifySampleRequest,
};

const SCHEMAS: ReadonlyMap<string, JsonSchema> = new Map([
  ...Object.entries(SENT).map(([name, schema]) => [name, bare(jsonSchemaOf(schema, 'input'))] as const),
  ...Object.entries(RECEIVED).map(([name, schema]) => [name, bare(jsonSchemaOf(schema, 'output'))] as const),
]);
const NAMES: ReadonlyMap<string, string> = new Map(
  [...SCHEMAS].map(([name, schema]) => [JSON.stringify(schema), name]),
);

/** The components of the document. */
export function namedSchemas(): Record<string, ApiSchema> {
  return Object.fromEntries(
    [...SCHEMAS].map(([name, schema]) => [name, withParts(schema, (part) => hoistSchema(part))]),
  );
}

/** The same schema, with a reference wherever a component stands in it word for word. */
export function hoistSchema(schema: JsonSchema): ApiSchema {
  const own = bare(schema);
  const name = NAMES.get(JSON.stringify(own));
  return name === undefined ? withParts(own, hoistSchema) : { $ref: `#/components/schemas/${name}` };
}

function withParts(schema: JsonSchema, change: (part: JsonSchema) => ApiSchema): ApiSchema {
  const { properties, items } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, part]) => [name, change(part)])),
    }),
    ...(items && { items: change(items) }),
  };
}

function bare({ $schema: _dialect, ...schema }: JsonSchema): JsonSchema {
  return schema;
}
