import type { FastifyInstance } from 'fastify';
import { jsonSchemaOf, sampleOf } from '../contract/json-schema.ts';
import {
  type OpenApi,
  type OpenApiOperation,
  type OpenApiParameter,
  parametersOf,
  resolveResponse,
} from '../contract/openapi-document.ts';
import { loadStyle, serveAssets } from '../html/assets.ts';
import type { Content } from '../html/content.ts';
import { renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';
import { sendSharedPage, sharedPage } from '../html/html-page.ts';
import type { AppDeps } from './app.ts';
import { fieldTable, parameterTable } from './docs-fields.ts';
import { describeApi, servedEndpoints } from './openapi-endpoint.ts';

const STYLESHEET = loadStyle(new URL('assets/docs.css', import.meta.url));
/** curl option that sends the API key in the environment variable TILLWAY_API_KEY. */
export const KEY_OPTION = '-H "Authorization: Bearer $TILLWAY_API_KEY"';
// Titles of tags whose title differs from their name.
const TITLES: Record<string, string> = {
  sessions: 'Checkout sessions',
  deliveries: 'Webhook deliveries',
  keys: 'API keys',
  agent: 'Agent API',
};

interface Section {
  method: string;
  /** Path with `{name}` for path parameters; for a webhook, the event type. */
  path: string;
  operation: OpenApiOperation;
}

interface Reference {
  api: OpenApi;
  asksForKey: boolean;
  /** Sample of the successful response, by operation id. */
  samples: ReadonlyMap<string, unknown>;
}

/** Serves the API reference for people: one page, readable without scripts. */
export function apiReference(app: FastifyInstance, deps: AppDeps): void {
  // Two versions of the page: the curl examples contain the API key if the service requires one.
  const pages = new Map<boolean, Content>();
  serveAssets(app, [STYLESHEET]);
  app.get('/docs', async (request, reply) => {
    const asksForKey = !(await deps.gate.isOpen());
    const page =
      pages.get(asksForKey) ?? sharedPage(pageOf({ asksForKey, api: describeApi(deps), samples: samplesOf(deps) }));
    pages.set(asksForKey, page);
    return sendSharedPage(request, reply, page);
  });
}

function samplesOf(deps: AppDeps): Reference['samples'] {
  const sampled = servedEndpoints(deps).map(
    ({ operationId, response }) => [operationId, sampleOf(jsonSchemaOf(response, 'output'), 'required')] as const,
  );
  return new Map(sampled);
}

function pageOf(reference: Reference): Html {
  const { api } = reference;
  const sections = sectionsOf(api);
  const groups = api.tags.map(({ name, description }) => ({
    anchor: name.replaceAll(' ', '-'),
    title: TITLES[name] ?? name.charAt(0).toUpperCase() + name.slice(1),
    description,
    sections: sections.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const contents = html`<ul>
    ${groups.map(
      ({ anchor, title, sections: listed }) =>
        html`<li>
          <a class="group" href="#${anchor}">${title}</a>
          <ul>
            ${listed.map(contentsLine)}
          </ul>
        </li>`,
    )}
  </ul>`;
  const body = html`<a class="skip" href="#introduction">Skip to the reference</a>
    <nav class="sidebar" aria-label="Contents">
      <a class="brand" href="#introduction">${api.info.title} <span>API ${api.info.version}</span></a>
      ${contents}
    </nav>
    <main>
      ${introduction(api, contents)}
      ${groups.map(
        ({ anchor, title, description, sections: listed }) =>
          html`<section class="group" id="${anchor}" aria-labelledby="${anchor}-title">
            <h2 id="${anchor}-title">${title}</h2>
            <p class="lead">${description}</p>
            ${listed.map((section) => endpoint(reference, section))}
          </section>`,
      )}
    </main>`;
  return renderFrame({ title: `${api.info.title} API reference`, style: STYLESHEET, body });
}

function introduction(api: OpenApi, contents: Html): Html {
  const { info } = api;
  return html`<header id="introduction">
    <p class="eyebrow">API reference, version ${info.version}</p>
    <h1>${info.title}</h1>
    <p class="lead">${info.summary}</p>
    <details class="contents">
      <summary>Contents</summary>
      ${contents}
    </details>
    <div class="introduction">
      ${info.description.split('\n\n').map((paragraph) => html`<p>${inlineCode(paragraph)}</p>`)}
    </div>
    <p class="base">
      <span>Base URL</span> <code>${baseOf(api)}</code> <a href="/openapi.json">OpenAPI document</a>
      <a href="/api/agent/capabilities">Capabilities for agents</a>
    </p>
  </header>`;
}

function sectionsOf({ paths, webhooks }: OpenApi): Section[] {
  const served = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const sent = Object.entries(webhooks).map(([path, { post }]) => ({ method: 'EVENT', path, operation: post }));
  return [...served, ...sent];
}

function baseOf({ servers }: OpenApi): string {
  return servers[0]?.url ?? '';
}

function contentsLine({ method, operation }: Section): Html {
  return html`<li>
    <a href="#${operation.operationId}"
      ><span class="method ${method.toLowerCase()}">${method === 'EVENT' ? 'EVT' : method}</span>
      ${operation.summary}</a
    >
  </li>`;
}

function endpoint({ api, asksForKey, samples }: Reference, { method, path, operation }: Section): Html {
  const { operationId, summary, description, requestBody, responses } = operation;
  const sample = samples.get(operationId);
  const parameters = parametersOf(api, operation);
  const sent = requestBody?.content['application/json'];
  const { content } = resolveResponse(api, responses['200']) ?? {};
  const answer = content?.['application/json'];
  const sentFile = requestBody?.content['text/csv'];
  const file = content?.['text/csv'] ?? sentFile;
  const isEvent = method === 'EVENT';
  const tables = [
    ['path', 'Path parameters'],
    ['query', 'Query parameters'],
    ['header', 'Headers'],
  ].map(([place, caption]) =>
    parameterTable(
      parameters.filter((parameter) => parameter.in === place),
      caption!,
    ),
  );
  const request = { url: urlOf(baseOf(api), path, parameters), body: sent?.example, takesFile: sentFile !== undefined };
  return html`<article id="${operationId}">
    <div class="text">
      <h3><a href="#${operationId}">${summary}</a></h3>
      <p class="path"><span class="method ${method.toLowerCase()}">${method}</span> <code>${breakable(path)}</code></p>
      ${description.split('\n\n').map((paragraph) => html`<p>${paragraph}</p>`)} ${tables}
      ${sent && fieldTable(api, sent.schema, isEvent ? 'Payload' : 'Body')}
      ${
        answer &&
        html`<details>
          <summary>Fields of the answer</summary>
          ${fieldTable(api, answer.schema, 'Answer')}
        </details>`
      }
      ${errorList(api, operation)}
    </div>
    <div class="code">
      ${!isEvent && codeBlock('Request', curlOf(method, request, asksForKey))}
      ${file && codeBlock('File', String(file.example ?? sample))}
      ${isEvent && sent && codeBlock('Payload', inJson(sent.example))}
      ${answer && codeBlock('Answer, 200', inJson(sample))}
    </div>
  </article>`;
}

function codeBlock(title: string, code: string): Html {
  return html`<figure>
    <figcaption>${title}</figcaption>
    <pre tabindex="0"><code>${code}</code></pre>
  </figure>`;
}

function inJson(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** curl command for a request, with one option per line. */
function curlOf(
  method: string,
  { url, body, takesFile }: { url: string; body: unknown; takesFile: boolean },
  asksForKey: boolean,
): string {
  const parts = [method === 'GET' || body !== undefined ? `curl ${url}` : `curl -X ${method} ${url}`];
  if (asksForKey) parts.push(KEY_OPTION);
  if (body !== undefined) {
    parts.push(`-H 'Content-Type: application/json'`, `-d '${inJson(body).replaceAll("'", String.raw`'\''`)}'`);
  }
  if (takesFile) parts.push(`-H 'Content-Type: text/csv'`, '--data-binary @file.csv');
  return parts.join(' \\\n  ');
}

function errorList(api: OpenApi, { responses }: OpenApiOperation): Html | false {
  const refusals = Object.entries(responses).flatMap(([status, response]) =>
    Object.entries(resolveResponse(api, response)?.content?.['application/json']?.examples ?? {}).map(
      ([code, { value }]) => ({ status, code, value }),
    ),
  );
  if (refusals.length === 0) return false;
  return html`<details>
    <summary>Errors</summary>
    <dl class="errors">
      ${refusals.map(
        ({ status, code, value }) =>
          html`<div>
            <dt><code>${code}</code> <span class="type">${status}</span></dt>
            <dd>${(value as { error: { suggestion?: string; message: string } }).error.suggestion ?? ''}</dd>
          </div>`,
      )}
    </dl>
  </details>`;
}

/** URL of an operation with its path parameters replaced by their examples. */
function urlOf(base: string, path: string, parameters: readonly OpenApiParameter[]): string {
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) =>
    String(parameters.find((parameter) => parameter.name === name)?.example ?? whole),
  );
  return `${base}${filled}`;
}

/** Path with possible line breaks after its slashes. */
function breakable(path: string): Html[] {
  return path.split(/(?<=\/)/).map((part) => html`${part}<wbr />`);
}

function inlineCode(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}
