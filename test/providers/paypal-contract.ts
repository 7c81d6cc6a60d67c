import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ValidateFunction, Ajv2019 } from 'ajv/dist/2019.js';
import { type JsonRequest, type OpenApiDescription, closed, createContract, rebased } from './openapi-contract.ts';

// Checks requests to PayPal, and the responses of the scripted PayPal, against PayPal's OpenAPI descriptions. The repository
// does not contain the descriptions; PROVIDER_DATA names the folder that does.

type Schema = Record<string, unknown>;

const FILES = ['paypal_checkout_orders_v2', 'paypal_payments_payment_v2', 'paypal_notifications_webhooks_v1'];

/** The operations that the adapter may use, as the descriptions name them. */
export const OPERATIONS = [
  'POST /v2/checkout/orders',
  'GET /v2/checkout/orders/{id}',
  'POST /v2/checkout/orders/{id}/capture',
  'GET /v2/payments/captures/{capture_id}',
  'POST /v2/payments/captures/{capture_id}/refund',
  'GET /v2/payments/refunds/{refund_id}',
  'GET /v1/notifications/webhooks/{webhook_id}',
];

/** Request fields, by operation, that are newer than the descriptions of February 2024. The adapter needs none of them yet. */
const NEWER_FIELDS: Readonly<Record<string, Record<string, Schema>>> = {};

/** Requirements, by operation, that only PayPal's documentation states. */
const DOCUMENTED: Readonly<Record<string, Schema>> = {
  'POST /v2/checkout/orders': within('payment_source', 'paypal', 'experience_context', {
    required: ['return_url', 'cancel_url'],
    patternProperties: { '^(?:return|cancel)_url$': { pattern: '^https?://[^ ]+$' } },
  }),
  'POST /v2/payments/captures/{capture_id}/refund': { patternProperties: { '^amount$': { required: ['value'] } } },
};

/** Schema of a property inside of others. `properties` would close the objects for all other properties. */
function within(...path: [string, string, string, Schema]): Schema {
  const [outer, middle, inner, schema] = path;
  const at = (name: string, inside: Schema): Schema => ({ patternProperties: { [`^${name}$`]: inside } });
  return at(outer, at(middle, at(inner, schema)));
}

const folder = process.env['PROVIDER_DATA'];

/** The reason to skip the tests that need PayPal's descriptions; false if they are present. */
export const SKIPPED =
  folder === undefined ? "SKIPPED: PayPal's description (set PROVIDER_DATA to the folder that contains it)" : false;

const descriptions = FILES.map((file) =>
  folder === undefined
    ? { paths: {} }
    : (JSON.parse(readFileSync(join(folder, `${file}.json`), 'utf8')) as OpenApiDescription),
);

const contract =
  folder === undefined
    ? undefined
    : createContract(descriptions, {
        operations: OPERATIONS,
        tighten: Object.fromEntries(
          OPERATIONS.map((name) => [
            name,
            (schema: Schema) => ({
              allOf: [schema, DOCUMENTED[name] ?? {}, { properties: NEWER_FIELDS[name] ?? {} }],
            }),
          ]),
        ),
      });

/** Violations of PayPal's documentation in the headers, and of the description in all else if it is present. */
export function paypalProblems(request: JsonRequest): string[] {
  const { method, url, headers } = request;
  const problems: string[] = [];
  if (!/^Bearer [\w.-]+$/.test(headers.authorization ?? '')) problems.push('authorization is not a bearer token');
  if (method === 'POST' && headers['content-type'] !== 'application/json') {
    problems.push('content-type is not application/json');
  }
  const id = headers['paypal-request-id'];
  if (method === 'POST' && (typeof id !== 'string' || !/^[\x21-\x7e]{1,108}$/.test(id))) {
    problems.push('PayPal-Request-Id has not 1 to 108 characters');
  }
  if (!/^(?:return=(?:representation|minimal))?$/.test(String(headers['prefer'] ?? ''))) {
    problems.push('Prefer is neither return=representation nor return=minimal');
  }
  const isDescribed = !url.startsWith('/v1/customer/disputes');
  return [...problems, ...((isDescribed && contract?.problemsOf(request)) || [])];
}

/** Violations of PayPal's description in a response of the scripted PayPal; `operation` is a name of `OPERATIONS`. */
export function responseProblems(operation: string, status: number, body: unknown): string[] {
  const validate = responseSchema(operation, status);
  if (!validate) return [`${operation} does not describe a response ${status}`];
  if (validate(body)) return [];
  return validate.errors!.map(
    ({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
  );
}

const compiled = new Map<string, ValidateFunction>();

interface Described {
  responses?: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

function responseSchema(operation: string, status: number): ValidateFunction | undefined {
  const name = `${operation} ${status}`;
  const [method = '', path = ''] = operation.split(' ');
  const description = descriptions.find(({ paths }) => path in paths);
  const described = description?.paths[path]?.[method.toLowerCase()] as Described | undefined;
  const schema = described?.responses?.[status]?.content?.['application/json']?.schema;
  if (!description || !schema) return undefined;
  if (!compiled.has(name)) {
    const ajv = new Ajv2019({ strict: false, allErrors: true, validateFormats: false, unicodeRegExp: false });
    ajv.addSchema(rebased({ components: description.components ?? {} }, 'api') as Schema, 'api');
    compiled.set(name, ajv.compile(closed(rebased(schema, 'api'))));
  }
  return compiled.get(name);
}
