import { z } from 'zod';
import { apiKeyResource, createdApiKey } from './api-keys.ts';
import { customerExport } from './customer-endpoints.ts';
import { delivery, deliveryDetails } from './deliveries.ts';
import { capabilitiesResult, schemaResult } from './discovery.ts';
import { discrepancy } from './discrepancies.ts';
import type { Endpoint } from './endpoint.ts';
import { ERROR_EXAMPLES } from './error-examples.ts';
import { type JsonSchema, jsonSchemaOf, namedJsonSchemas } from './json-schema.ts';
import { ledgerBalances, ledgerEntry } from './ledger.ts';
import { recovery } from './recoveries.ts';
import { refund } from './refunds.ts';
import { sessionRequest, verifySampleRequest } from './requests.ts';
import {
  actionError,
  checkoutResult,
  checkoutSession,
  customer,
  feesEstimateResult,
  hasMore,
  invoice,
  payment,
  routeSummary,
  routesListResult,
  verifySampleResult,
  webhookEvent,
  webhookExampleResult,
} from './resources.ts';
import {
  backtestResult,
  dryRunResult,
  routeStanding,
  routingDecision,
  routingDecisions,
  routingReplay,
  routingVerdict,
  rulesResource,
  transitionResource,
} from './routing.ts';
import { settlement, settlementImport } from './settlements.ts';
import { testClockResource } from './test-clock.ts';
import {
  deletedEndpoint,
  webhookEndpoint,
  webhookEndpointWithSecret,
  webhookTest,
} from './webhook-endpoint-resource.ts';
import { routeSelector, ruleSetSchema } from '../routing/rules.ts';

/** Request bodies with a name of their own; others are named after their operation. */
const REQUESTS: Record<string, z.ZodType> = {
  SessionRequest: sessionRequest,
  VerifySampleRequest: verifySampleRequest,
};

/** Schemas of both requests and responses. */
const RULES: Record<string, z.ZodType> = {
  RouteSelector: routeSelector,
  RuleSet: ruleSetSchema,
};

const RESPONSES: Record<string, z.ZodType> = {
  ActionError: actionError,
  ApiKey: apiKeyResource,
  ApiKeyScope: apiKeyResource.shape.scope,
  Capabilities: capabilitiesResult,
  CheckoutResult: checkoutResult,
  CheckoutSession: checkoutSession,
  CreatedApiKey: createdApiKey,
  Customer: customer,
  CustomerExport: customerExport,
  DeletedWebhookEndpoint: deletedEndpoint,
  Delivery: delivery,
  DeliveryDetails: deliveryDetails,
  Discrepancy: discrepancy,
  Environment: customer.shape.environment,
  ExportedPayment: customerExport.shape.payments.element,
  ExportedRefund: customerExport.shape.refunds.element,
  ExportedSession: customerExport.shape.sessions.element,
  Fees: payment.shape.fees,
  FeeSplit: checkoutResult.shape.feeSplit,
  FeesEstimate: feesEstimateResult,
  HasMore: hasMore,
  Invoice: invoice,
  LedgerBalances: ledgerBalances,
  LedgerEntry: ledgerEntry,
  Metadata: payment.shape.metadata,
  OperationSchemas: schemaResult,
  Payment: payment,
  Recovery: recovery,
  Refund: refund,
  RouteStanding: routeStanding,
  RouteSummary: routeSummary,
  RouteSummaryList: routesListResult,
  RoutingBacktest: backtestResult,
  RoutingCandidate: routingDecision.shape.candidates.element,
  RoutingDecision: routingDecision,
  RoutingDecisions: routingDecisions,
  RoutingDryRun: dryRunResult,
  RoutingReplay: routingReplay,
  RoutingRules: rulesResource,
  RoutingTransition: transitionResource,
  RoutingVerdict: routingVerdict,
  Settlement: settlement,
  SettlementImport: settlementImport,
  TestClock: testClockResource,
  VerifySampleResult: verifySampleResult,
  WebhookEndpoint: webhookEndpoint,
  WebhookEndpointWithSecret: webhookEndpointWithSecret,
  WebhookEvent: webhookEvent,
  WebhookExample: webhookExampleResult,
  WebhookTest: webhookTest,
};

// Schemas with fewer properties share them with others by chance.
const MIN_BASE_PROPERTIES = 5;

/** The named schemas of a document. */
export interface Components {
  schemas: Record<string, JsonSchema>;
  /** A reference to the named schema; the whole schema for text that is not JSON. */
  refTo(schema: z.ZodType): JsonSchema;
}

/** Named schemas for the body and the response of every endpoint, and for each resource in them. */
export function componentsOf(endpoints: readonly Endpoint[]): Components {
  const requests = new Map(Object.entries({ ...REQUESTS, ...RULES }));
  const responses = new Map(Object.entries({ ...RESPONSES, ...RULES }));
  const names = new Map<z.core.$ZodType, string>([...requests, ...responses].map(([name, schema]) => [schema, name]));
  const add = (into: Map<string, z.ZodType>, schema: z.ZodType, name: string) => {
    if (names.has(schema)) return;
    names.set(schema, name);
    // Each list endpoint builds its own envelope; the envelopes of one resource are equal.
    if (!into.has(name)) into.set(name, schema);
  };
  for (const { operationId, body, bodyType, response, responseType } of endpoints) {
    if (body && bodyType === undefined) add(requests, body, `${pascalCase(operationId)}Request`);
    const item = itemOf(response);
    const list = item && names.get(item);
    if (responseType === undefined)
      add(responses, response, list === undefined ? `${pascalCase(operationId)}Response` : `${list}List`);
  }
  const schemas = {
    ...extended(namedJsonSchemas(registryOf(responses), 'output')),
    ...namedJsonSchemas(registryOf(requests), 'input'),
    ...envelopes(),
  };
  schemas['ActionError']!.properties!['code']!.enum = Object.keys(ERROR_EXAMPLES);
  return {
    schemas: Object.fromEntries(Object.entries(schemas).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    refTo(schema) {
      const name = names.get(schema);
      if (name !== undefined) return { $ref: refOf(name) };
      const { $schema: _dialect, ...inline } = jsonSchemaOf(schema, 'output');
      return inline;
    },
  };
}

export function refOf(name: string): string {
  return `#/components/schemas/${name}`;
}

/** Name of the error schema of an endpoint. */
export function errorSchemaOf(envelope: Endpoint['envelope']): string {
  return { action: 'ActionErrorResponse', operation: 'OperationErrorResponse', none: 'ErrorResponse' }[
    envelope ?? 'none'
  ];
}

function envelopes(): Record<string, JsonSchema> {
  return Object.fromEntries(
    [undefined, 'action' as const, 'operation' as const].map((envelope) => [
      errorSchemaOf(envelope),
      {
        type: 'object',
        properties: {
          ok: { type: 'boolean', const: false, description: 'Always false.' },
          ...(envelope && { [envelope]: { type: 'string', description: `The ${envelope} named in the path.` } }),
          error: { $ref: refOf('ActionError') },
        },
        required: ['ok', ...(envelope ? [envelope] : []), 'error'],
      },
    ]),
  );
}

/** The schemas. A resource with every property of another one refers to that one and lists only its own properties. */
function extended(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const plain = Object.entries(schemas);
  return Object.fromEntries(
    plain.map(([name, schema]) => {
      const [base] = plain
        .filter(([other, { properties }]) => other !== name && isBase(properties) && hasAll(schema, properties))
        .toSorted(([, a], [, b]) => Object.keys(b.properties!).length - Object.keys(a.properties!).length);
      return [name, base ? without(schema, base) : schema];
    }),
  );
}

function isBase(properties: JsonSchema['properties']): properties is Record<string, JsonSchema> {
  return properties !== undefined && Object.keys(properties).length >= MIN_BASE_PROPERTIES;
}

function hasAll({ properties = {} }: JsonSchema, parts: Record<string, JsonSchema>): boolean {
  return Object.entries(parts).every(([name, part]) => JSON.stringify(properties[name]) === JSON.stringify(part));
}

function without(
  { properties = {}, required = [], ...rest }: JsonSchema,
  [name, base]: [string, JsonSchema],
): JsonSchema {
  const isOwn = (field: string) => !Object.hasOwn(base.properties!, field);
  const own = Object.fromEntries(Object.entries(properties).filter(([field]) => isOwn(field)));
  return { allOf: [{ $ref: refOf(name) }, { ...rest, properties: own, required: required.filter(isOwn) }] };
}

function registryOf(schemas: ReadonlyMap<string, z.ZodType>) {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of schemas) registry.add(schema, { id });
  return registry;
}

/** The schema of a record in a list. */
function itemOf(schema: z.ZodType): z.core.$ZodType | undefined {
  const data: unknown = schema instanceof z.ZodObject ? schema.shape['data'] : undefined;
  return data instanceof z.ZodArray ? data.element : undefined;
}

export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
