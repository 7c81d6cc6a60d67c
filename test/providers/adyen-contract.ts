import { readFileSync } from 'node:fs';
import { type JsonRequest, type OpenApiDescription, createContract } from './openapi-contract.ts';

// Checks requests to Adyen against Adyen's description of its API, and against rules from Adyen's documentation.

/** Request of the check, which the extract of the description lacks: https://docs.adyen.com/api-explorer/Checkout/71/post/paymentMethods */
const NEWER: OpenApiDescription = {
  paths: {
    '/paymentMethods': {
      post: {
        requestBody: {
          required: true,
          content: {
            'application/json': {
              schema: {
                type: 'object',
                required: ['merchantAccount'],
                properties: {
                  merchantAccount: { type: 'string' },
                  countryCode: { type: 'string' },
                  amount: {
                    type: 'object',
                    required: ['currency', 'value'],
                    properties: { currency: { type: 'string' }, value: { type: 'integer' } },
                  },
                },
              },
            },
          },
        },
      },
    },
  },
};
/** Fields that must not be missing here, although Adyen's description allows it. */
const REQUIRED: Readonly<Record<string, string[]>> = {
  'POST /paymentLinks': ['amount', 'merchantAccount', 'reference', 'expiresAt', 'returnUrl', 'captureDelayHours'],
  'POST /payments/{paymentPspReference}/refunds': ['amount', 'merchantAccount', 'reference'],
};

const description = JSON.parse(
  readFileSync(new URL('descriptions/adyen-checkout-v71.json', import.meta.url), 'utf8'),
) as OpenApiDescription;
const tighten = Object.fromEntries(
  Object.entries(REQUIRED).map(([operation, required]) => [
    operation,
    (schema: Record<string, unknown>) => ({ allOf: [schema, { type: 'object', required }] }),
  ]),
);
const contract = createContract([description, NEWER], { prefix: '/v71', tighten });

/** Violations of the contract in a request, one line each. */
export function adyenProblems(request: JsonRequest): string[] {
  const { method, url, headers, body } = request;
  const key = headers['idempotency-key'];
  const creates = /\/(?:paymentLinks|refunds)$/.test(url) && method === 'POST';
  const rules: [boolean, string][] = [
    [/^[\x21-\x7e]{20,}$/.test(String(headers['x-api-key'] ?? '')), 'x-api-key is missing'],
    [!creates || (typeof key === 'string' && key.length <= 64), 'idempotency-key is missing'],
    [method === 'GET' || body !== '', 'the body is missing'],
  ];
  return [...rules.flatMap(([isRight, problem]) => (isRight ? [] : [problem])), ...contract.problemsOf(request)];
}
