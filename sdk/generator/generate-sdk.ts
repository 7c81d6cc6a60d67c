import type { JsonSchema } from '../../src/contract/json-schema.ts';
import { type OpenApi, parametersOf, resolveResponse } from '../../src/contract/openapi-document.ts';

/** Client methods by operation id, for operations whose method cannot be derived from the path. */
const METHODS: Record<string, string> = {
  createRefund: 'refunds.create',
  listRefundsOfPayment: 'refunds.listOfPayment',
  settlePayment: 'settlements.settle',
  getRecovery: 'webhookEndpoints.recovery',
  saveRoutingRules: 'routing.saveRules',
  overrideRouteHealth: 'routing.overrideHealth',
  getExperiment: 'routing.experiment',
  startExperiment: 'routing.startExperiment',
  endExperiment: 'routing.endExperiment',
};
/** Names of client resources that differ from their name in the path. */
const RESOURCES: Record<string, string> = { keys: 'apiKeys', webhook: 'webhooks' };
// Retried after a 429 only: a second request would create a second record, lose a secret, or fail although the first one succeeded.
const NOT_REPEATABLE = /^(?:test|replay|resend|advance|resolve|delete|overrideHealth|create|rotateSecret)$/;

const capitalized = (name: string) => name[0]!.toUpperCase() + name.slice(1);
const queryName = (operation: string) => `${capitalized(operation)}Params`;
const docOf = (description?: string) => (description ? `/** ${description.replaceAll('\n', '\n * ')} */\n` : '');
/** Name of the TypeScript type of a schema, given the name of the schema or a reference to it. */
const typeName = (schema = '') => schema.replace(/.*\//, '').replace(/Request$/, 'Params');

function operationsOf(api: OpenApi) {
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, operation]) => ({ ...operation, path, verb })),
  );
  return all.map((operation) => ({
    ...operation,
    query: parametersOf(api, operation).filter((parameter) => parameter.in === 'query'),
    response: resolveResponse(api, operation.responses['200'])?.content?.['application/json']?.schema,
  }));
}

/** The properties of a schema, including the properties of the schemas that it refers to. */
function propertiesOf(
  api: OpenApi,
  { $ref, allOf = [], anyOf = [], properties }: JsonSchema = {},
): Record<string, JsonSchema> {
  const target = $ref === undefined ? {} : propertiesOf(api, api.components.schemas[$ref.replace(/.*\//, '')]);
  // The schemas of a union have the field `type`, each with other values.
  const types = anyOf.flatMap((each) => propertiesOf(api, each)['type']?.enum ?? []);
  const union = types.length > 0 && { type: { enum: types } };
  return Object.assign(target, union, ...allOf.map((each) => propertiesOf(api, each)), properties);
}

/** Source code of the types: all schemas except response envelopes, and the query parameters of all operations. */
export function typesText(api: OpenApi): string {
  const schemas = Object.entries(api.components.schemas).filter(
    // `WebhookEvent` is written by hand, with a type for each event type.
    ([name]) => !/(?:List|Response)$|^WebhookEvent$/.test(name),
  );
  const queries = operationsOf(api).flatMap(({ query, operationId, response }): [string, JsonSchema][] => {
    const record = propertiesOf(api, propertiesOf(api, response).data?.items);
    // The service accepts any text as a filter. The type lists only the values that can match.
    const fields = query.map((each) => [each.name, { enum: record[each.name]?.enum, ...each.schema, ...each }]);
    return query[0] ? [[queryName(operationId), { properties: Object.fromEntries(fields) }]] : [];
  });
  const declarations = [...schemas, ...queries].map(([name, schema]) => {
    const type = typeName(name);
    return `${docOf(schema.description)}export ${schema.properties ? `interface ${type}` : `type ${type} =`} ${typeOf(schema)}`;
  });
  return declarations.join('\n\n');
}

function typeOf(schema: JsonSchema): string {
  const { $ref, type = 'unknown', anyOf, allOf, properties, required, items, additionalProperties: rest } = schema;
  const values = 'const' in schema ? [schema.const] : schema.enum;
  // `PaymentWebhookEvent` is written by hand, with a type for each event type.
  if ($ref !== undefined) return typeName($ref).replace(/^PaymentEvent$/, 'PaymentWebhookEvent');
  // Query parameters are text, so 'true' and 'false' stand for a boolean.
  if (values?.join() === 'true,false') return 'boolean';
  if (values) return values.map((each) => JSON.stringify(each)).join(' | ');
  if (allOf) return allOf.map(typeOf).join(' & ');
  // An array in `anyOf` is read-only, because callers often pass a constant array.
  if (anyOf) return anyOf.map((each) => (each.items ? `readonly ${typeOf(each)}` : typeOf(each))).join(' | ');
  // Only the schema of rule conditions has patterns; its type is written by hand.
  if ('patternProperties' in schema) return 'RuleCondition';
  if (Array.isArray(type)) return `${typeOf({ ...schema, type: type[0]! })} | null`;
  if (items) return `(${typeOf(items)})[]`;
  if (typeof rest === 'object') return `Record<string, ${typeOf(rest)}>`;
  if (!properties) return schema.format === 'date-time' ? 'Timestamp' : type.replace('integer', 'number');
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = `?: ${typeOf(field)} | undefined`.replace('?: unknown | undefined', '?: unknown');
    return `${docOf(field.description)}${name}${required?.includes(name) ? `: ${typeOf(field)}` : optional};`;
  });
  return `{\n${fields.join('\n')}\n}`;
}

/** Source code of the resources: one class per resource, with one method per operation. */
export function resourcesText(api: OpenApi): string {
  const methods: Record<string, string> = {};
  for (const operation of operationsOf(api).filter(({ operationId: id }) => !/^(?:capabilities|getSchema)$/.test(id))) {
    const [resource = '', name = ''] = methodName(operation).split('.');
    methods[resource] = `${methods[resource] ?? ''}\n\n${methodText(api, name, operation)}`;
  }
  const all = Object.entries(methods).map(([name, text]) => ({ name, text, type: `${capitalized(name)}Resource` }));
  const classes = all.map(({ text, type }) => `export class ${type} extends Resource { ${text} }\n\n`);
  const fields = all.map(({ name, type }) => `readonly ${name}: ${type} = new ${type}(this.transport);`);
  return `${classes.join('')}
    /** The resources of the API. */
    export class ApiResources extends Resource { ${fields.join('\n')} }`;
}

/** Resource and method of the client, for example `webhookEndpoints.rotateSecret`. */
function methodName({ path, operationId: id }: ReturnType<typeof operationsOf>[number]): string {
  const [resource = '', ...rest] = path
    .replaceAll(/^\/api\/\w+\/(?:actions\/)?|\/\{\w+\}/g, '')
    .replaceAll(/[-_](\w)/g, (_, letter: string) => letter.toUpperCase())
    .split(/[/.]/);
  return METHODS[id] ?? `${RESOURCES[resource] ?? resource}.${rest.at(-1) ?? /^[a-z]+/.exec(id)![0]}`;
}

function methodText(api: OpenApi, name: string, operation: ReturnType<typeof operationsOf>[number]): string {
  const { path, verb, query, operationId, requestBody, summary, description } = operation;
  const { 'application/json': json, 'text/csv': csv } = requestBody?.content ?? {};
  const ids = Array.from(path.matchAll(/\{(\w+)\}/g), ([, each]) => each!);
  const isOptional = !json || (!requestBody?.required && verb !== 'patch');
  const isKeyed = name === 'create' && 'idempotencyKey' in propertiesOf(api, json?.schema);
  const isRepeatable = verb === 'get' || isKeyed || !NOT_REPEATABLE.test(name);
  const [result, send, read] = responseText(api, operation);
  const parameters = [
    ...ids.map((id) => `${id}: string`),
    csv && 'csv: string',
    (json ?? query[0]) &&
      `params: api.${json ? typeName(json.schema.$ref) : queryName(operationId)}${isOptional ? ' = {}' : ''}`,
    'options?: RequestOptions',
  ];
  const request = [
    `method: '${verb.toUpperCase()}', path: '${path}'`,
    ids[0] && `params: { ${ids.join(', ')} }`,
    query[0] && 'query: { ...params }',
    json && `body: ${isKeyed ? 'withKey(this.transport, params)' : 'params'}`,
    csv && "file: { type: 'text/csv', text: csv }",
    // A repeated recovery sends pending deliveries once, but with `all` it sends acknowledged events twice.
    `options, repeatable: ${name === 'recover' ? 'params.all !== true' : isRepeatable}, ${read}`,
  ];
  return `${docOf(`${summary}. ${description}`)}${name}(${parameters.filter(Boolean).join(', ')}): ${result} {
    return ${send}{ ${request.filter(Boolean).join(', ')} });
  }`;
}

/** Source code of a method's return type, of the function that it calls, and of the property that reads the response. */
function responseText(
  api: OpenApi,
  { response, verb }: ReturnType<typeof operationsOf>[number],
): [type: string, send: string, read: string] {
  if (!response) return ['AsyncGenerator<string>', 'this.transport.stream(', "type: 'text/csv'"];
  const { object, data, routes, action, result } = propertiesOf(api, response);
  const list = object?.const === 'list' ? data : routes;
  const type = `api.${typeName((list?.items ?? (action && result) ?? response).$ref)}`;
  const page = routes ? 'read: readRoutes' : `read: readPage<${type}>`;
  if (list && verb === 'get') return [`TillwayList<${type}>`, 'listOf(this.transport, ', page];
  if (list) return [`TillwayPromise<Page<${type}>>`, 'call(this.transport, ', page];
  const name = String((action ?? object)?.const);
  const read = action ? `resultOf('${name}')` : object ? `resource('${name}')` : 'readEvent';
  return [`TillwayPromise<${type}>`, 'call(this.transport, ', `read: ${read}`];
}
