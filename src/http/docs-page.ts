import {
  type OpenApi,
  type OpenApiOperation,
  type OpenApiParameter,
  parametersOf,
  resolveResponse,
} from '../contract/openapi-document.ts';
import type { Asset } from '../html/assets.ts';
import { renderFrame } from '../html/frame.ts';
import { type Html, html } from '../html/html.ts';
import { curlOf, jsonMarkup } from './docs-code.ts';
import { fieldTable, parameterTable } from './docs-fields.ts';

interface Section {
  method: string;
  /** With `{name}` for path parameters; the event's name for a webhook. */
  path: string;
  operation: OpenApiOperation;
}

interface DocsOptions {
  stylesheet: Asset;
  /** The service requires an API key. */
  asksForKey: boolean;
  /** A sample of each successful response, by operation id. */
  samples: ReadonlyMap<string, unknown>;
}

// The title of every other tag is its name.
const TITLES: Record<string, string> = {
  sessions: 'Checkout sessions',
  deliveries: 'Webhook deliveries',
  keys: 'API keys',
  agent: 'Agent API',
};

/** The reference as one page, made from the OpenAPI document. */
export function docsPage(api: OpenApi, { stylesheet, asksForKey, samples }: DocsOptions): Html {
  const sections = sectionsOf(api);
  const groups = api.tags.map(({ name, description }) => ({
    name,
    description,
    sections: sections.filter(({ operation }) => operation.tags.includes(name)),
  }));
  const contents = groups.map(
    ({ name, sections: listed }) =>
      html`<li>
        <a class="group" href="#${anchorOf(name)}">${titleOf(name)}</a>
        <ul>
          ${listed.map(contentsLine)}
        </ul>
      </li>`,
  );
  const body = html`<a class="skip" href="#introduction">Skip to the reference</a>
    <nav class="sidebar" aria-label="Contents">
      <a class="brand" href="#introduction">${api.info.title} <span>API ${api.info.version}</span></a>
      <ul>
        ${contents}
      </ul>
    </nav>
    <main>
      ${introduction(api, contents)}
      ${groups.map(
        ({ name, description, sections: listed }) =>
          html`<section class="group" id="${anchorOf(name)}" aria-labelledby="${anchorOf(name)}-title">
            <h2 id="${anchorOf(name)}-title">${titleOf(name)}</h2>
            <p class="lead">${description}</p>
            ${listed.map((section) => endpoint(api, { asksForKey, sample: samples.get(section.operation.operationId) }, section))}
          </section>`,
      )}
    </main>`;
  return renderFrame({ title: `${api.info.title} API reference`, style: stylesheet, body });
}

function introduction(api: OpenApi, contents: Html[]): Html {
  const { info } = api;
  return html`<header id="introduction">
    <p class="eyebrow">API reference, version ${info.version}</p>
    <h1>${info.title}</h1>
    <p class="lead">${info.summary}</p>
    <details class="contents">
      <summary>Contents</summary>
      <ul>
        ${contents}
      </ul>
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

function titleOf(tag: string): string {
  return TITLES[tag] ?? tag.charAt(0).toUpperCase() + tag.slice(1);
}

function anchorOf(tag: string): string {
  return tag.replaceAll(' ', '-');
}

function contentsLine({ method, operation }: Section): Html {
  return html`<li>
    <a href="#${operation.operationId}"
      ><span class="method ${method.toLowerCase()}">${method === 'EVENT' ? 'EVT' : method}</span>
      ${operation.summary}</a
    >
  </li>`;
}

function endpoint(
  api: OpenApi,
  { asksForKey, sample }: { asksForKey: boolean; sample: unknown },
  { method, path, operation }: Section,
): Html {
  const { operationId, summary, description, requestBody, responses } = operation;
  const parameters = parametersOf(api, operation);
  const sent = requestBody?.content['application/json'];
  const { content } = resolveResponse(api, responses['200']) ?? {};
  const answer = content?.['application/json'];
  const sentFile = requestBody?.content['text/csv'];
  const file = content?.['text/csv'] ?? sentFile;
  const named = (place: string) => parameters.filter((parameter) => parameter.in === place);
  const tables = [
    { caption: 'Path parameters', rows: named('path') },
    { caption: 'Query parameters', rows: named('query') },
    { caption: 'Headers', rows: named('header') },
  ].filter(({ rows }) => rows.length > 0);
  const isEvent = method === 'EVENT';
  const takesFile = sentFile !== undefined;
  return html`<article id="${operationId}">
    <div class="text">
      <h3><a href="#${operationId}">${summary}</a></h3>
      <p class="path"><span class="method ${method.toLowerCase()}">${method}</span> <code>${breakable(path)}</code></p>
      ${description.split('\n\n').map((paragraph) => html`<p>${paragraph}</p>`)}
      ${tables.map(({ caption, rows }) => parameterTable(rows, caption))}
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
      ${isEvent ? '' : codeBlock('Request', html`${curlOf(method, urlOf(baseOf(api), path, parameters), sent?.example, { takesFile, asksForKey })}`)}
      ${file ? codeBlock('File', html`${String(file.example ?? sample)}`) : ''}
      ${isEvent && sent ? codeBlock('Payload', jsonMarkup(sent.example)) : ''}
      ${answer ? codeBlock('Answer, 200', jsonMarkup(sample)) : ''}
    </div>
  </article>`;
}

function codeBlock(title: string, code: Html | Html[]): Html {
  return html`<figure>
    <figcaption>${title}</figcaption>
    <pre tabindex="0"><code>${code}</code></pre>
  </figure>`;
}

function errorList(api: OpenApi, { responses }: OpenApiOperation): Html {
  const refusals = Object.entries(responses).flatMap(([status, response]) =>
    Object.entries(resolveResponse(api, response)?.content?.['application/json']?.examples ?? {}).map(
      ([code, { value }]) => ({ status, code, value }),
    ),
  );
  if (refusals.length === 0) return html``;
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

/** With the examples of the path parameters filled in. */
function urlOf(base: string, path: string, parameters: readonly OpenApiParameter[]): string {
  const filled = path.replace(/\{(\w+)\}/g, (whole, name) =>
    String(parameters.find((parameter) => parameter.name === name)?.example ?? whole),
  );
  return `${base}${filled}`;
}

/** A long path may break after its slashes. */
function breakable(path: string): Html[] {
  return path.split(/(?<=\/)/).map((part) => html`${part}<wbr />`);
}

function inlineCode(text: string): Html[] {
  return text.split('`').map((part, index) => (index % 2 === 0 ? html`${part}` : html`<code>${part}</code>`));
}
