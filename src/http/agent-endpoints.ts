import { z } from 'zod';
import type { Endpoint } from '../contract/endpoint.ts';
import { AGENT_ENDPOINTS } from '../contract/endpoints.ts';
import { jsonSchemaOf } from '../contract/json-schema.ts';
import type { ExampleDeps, Operation } from '../operations/operation.ts';
import { ACTIONS, OPERATIONS } from '../operations/registry.ts';

// Any endpoint can answer it, on loopback; of this one it is all that can be wrong.
const UNKNOWN_HOST = {
  forbidden: {
    message: 'This service is not known under that host name.',
    suggestion: 'Use the address in BASE_URL, or set BASE_URL to the address that you use.',
  },
};

/** The agent endpoints with what only the registry knows: the names of the operations, and one endpoint per action. */
export function agentEndpoints(deps: ExampleDeps): Endpoint[] {
  const { capabilities, listRoutes, getSchema } = AGENT_ENDPOINTS;
  return [
    { ...capabilities, errors: ['forbidden'], errorExamples: UNKNOWN_HOST },
    listRoutes,
    {
      ...getSchema,
      params: { operation: { ...getSchema.params.operation, enum: [...OPERATIONS.keys()] } },
    },
    ...ACTIONS.map((action) => actionEndpoint(deps, action)),
  ];
}

/** What the schema lookup answers of an operation. */
export function schemaAnswer({ name, input, output }: Operation) {
  return {
    ok: true,
    operation: name,
    inputSchema: jsonSchemaOf(input, 'input'),
    outputSchema: jsonSchemaOf(output, 'output'),
  };
}

function actionEndpoint(deps: ExampleDeps, action: Operation): Endpoint {
  const { name, title, description, access, input, output, errors, next } = action;
  return {
    operationId: name,
    method: 'POST',
    access,
    path: `/api/agent/actions/${name}`,
    tag: 'agent',
    summary: title,
    description: `${description} Next: ${next}`,
    body: input,
    requestExample: action.example(deps).request,
    response: z.strictObject({
      ok: z.literal(true).describe('Always true.'),
      action: z.literal(name).describe('The action that ran.'),
      result: output,
    }),
    envelope: 'action',
    errors: errors.map(({ code }) => code),
  };
}
