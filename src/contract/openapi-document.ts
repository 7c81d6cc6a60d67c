import type { JsonSchema } from './json-schema.ts';
import type { Security, SecurityScheme } from './openapi-security.ts';

/** The part of OpenAPI 3.1 that is used here. https://spec.openapis.org/oas/v3.1.1 */
export interface OpenApi {
  openapi: string;
  info: { title: string; version: string; summary: string; description: string; license: Record<string, string> };
  jsonSchemaDialect: string;
  servers: { url: string; description: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Partial<Record<'get' | 'post' | 'put', OpenApiOperation>>>;
  webhooks: Record<string, { post: OpenApiOperation }>;
  components: {
    schemas: Record<string, JsonSchema>;
    parameters: Record<string, OpenApiParameter>;
    responses: Record<string, OpenApiResponse>;
    securitySchemes: Record<string, SecurityScheme>;
  };
  security: [];
}

export interface OpenApiOperation {
  operationId: string;
  tags: string[];
  summary: string;
  description: string;
  parameters?: (OpenApiParameter | OpenApiReference)[];
  requestBody?: { required: boolean; content: OpenApiContents };
  responses: Record<string, OpenApiResponse | OpenApiReference>;
  security?: Security;
}

export interface OpenApiParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  /** Absent: optional. */
  required?: true;
  description: string;
  schema: JsonSchema;
  example?: string | number;
}

export interface OpenApiReference {
  $ref: string;
}

/** Content by media type. */
type OpenApiContents = Partial<Record<'application/json' | 'text/csv', OpenApiContent>>;

interface OpenApiContent {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface OpenApiResponse {
  description: string;
  headers?: Record<string, { description: string; schema: JsonSchema }>;
  content?: OpenApiContents;
}

/** The response, also if the operation refers to a shared one. */
export function resolveResponse(
  { components }: OpenApi,
  response: OpenApiResponse | OpenApiReference | undefined,
): OpenApiResponse | undefined {
  return response && '$ref' in response ? components.responses[nameIn(response)] : response;
}

/** The parameters of an operation, with references to shared ones resolved. */
export function parametersOf({ components }: OpenApi, { parameters = [] }: OpenApiOperation): OpenApiParameter[] {
  return parameters.map((parameter) => ('$ref' in parameter ? components.parameters[nameIn(parameter)]! : parameter));
}

function nameIn({ $ref }: OpenApiReference): string {
  return $ref.slice($ref.lastIndexOf('/') + 1);
}
