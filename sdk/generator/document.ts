/** The part of JSON Schema that the OpenAPI document uses. */
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  enum?: unknown[];
  const?: unknown;
  format?: string;
}

export interface Parameter {
  name: string;
  in: string;
  description: string;
  schema: Schema;
}

type Content = Record<string, { schema: Schema }>;

export interface Operation {
  operationId: string;
  summary: string;
  description: string;
  parameters?: (Parameter | { $ref: string })[];
  requestBody?: { required: boolean; content: Content };
  responses: Record<string, { content?: Content }>;
}

/** The part of an OpenAPI document that the SDK is generated from. */
export interface ApiDocument {
  paths: Record<string, Record<string, Operation>>;
  webhooks: Record<string, { post: Operation }>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
}

/** The last part of a reference: the name of the component. */
export function nameIn(reference = ''): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}

export function queryOf({ components }: ApiDocument, { parameters = [] }: Operation): Parameter[] {
  const resolved = parameters.map((each) => ('$ref' in each ? components.parameters[nameIn(each.$ref)]! : each));
  return resolved.filter((parameter) => parameter.in === 'query');
}

/** Name of the schema of a JSON response; empty for a file. */
export function answerOf({ responses }: Operation): string {
  return nameIn(responses['200']?.content?.['application/json']?.schema.$ref);
}

/** The record of a list response. */
export function itemOf({ components }: ApiDocument, name: string): Schema | undefined {
  const { object, data, routes } = components.schemas[name]?.properties ?? {};
  return (object?.const === 'list' ? data : routes)?.items;
}

const DOC_WIDTH = 110;

/** A docstring, wrapped. */
export function docOf(description: string | undefined): string {
  if (description === undefined) return '';
  const lines = description
    .split('\n')
    .flatMap((line) => line.match(new RegExp(`.{1,${DOC_WIDTH}}(?: |$)|\\S+`, 'g')) ?? ['']);
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => ` * ${line}`.trimEnd()).join('\n')}\n */\n`;
}

export function pascalCase(name: string): string {
  return name.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
