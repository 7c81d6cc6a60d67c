import { z } from 'zod';
import { type Endpoint, endpointOf } from '../contract/endpoint.ts';
import { AGENT_ENDPOINTS } from '../contract/capabilities-contract.ts';
import { jsonSchemaOf } from '../contract/json-schema.ts';
import type { ExampleDeps, Operation } from '../operations/operation.ts';
import { ACTIONS, OPERATIONS } from '../operations/registry.ts';

/** The agent endpoints, with the names of the operations and one endpoint per action from the registry. */
export function agentEndpoints(deps: ExampleDeps): Endpoint[] {
  const { capabilities, listRoutes, getSchema } = AGENT_ENDPOINTS;
  return [
    capabilities,
    listRoutes,
    { ...getSchema, params: { operation: { ...getSchema.params['operation']!, enum: [...OPERATIONS.keys()] } } },
    ...ACTIONS.map((action) => actionEndpoint(deps, action)),
  ];
}

/** Response of the schema lookup for an operation. */
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
  return endpointOf('agent', name, {
    route: `POST /api/agent/actions/${name}`,
    access,
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
  });
}
