import type { FastifyInstance } from 'fastify';
import { jsonSchemaOf, sampleOf } from '../contract/json-schema.ts';
import { type Asset, loadStyle, serveAssets } from '../html/assets.ts';
import type { Content } from '../html/content.ts';
import type { Html } from '../html/html.ts';
import { sendSharedPage, sharedPage } from '../html/html-page.ts';
import type { AppDeps } from './app.ts';
import { docsPage } from './docs-page.ts';
import { describeApi, servedEndpoints } from './openapi-endpoint.ts';

/** The API reference for people: one page of ours, readable without scripts. */
export function apiReference(app: FastifyInstance, deps: AppDeps): void {
  const stylesheet = loadStyle(new URL('assets/docs.css', import.meta.url));
  // The first key that is made changes the examples.
  const pages = new Map<boolean, Content>();
  serveAssets(app, [stylesheet]);
  app.get('/docs', async (request, reply) => {
    const asksForKey = !(await deps.gate.isOpen());
    const page = pages.get(asksForKey) ?? sharedPage(pageOf(deps, stylesheet, asksForKey));
    pages.set(asksForKey, page);
    return sendSharedPage(request, reply, page);
  });
}

function pageOf(deps: AppDeps, stylesheet: Asset, asksForKey: boolean): Html {
  const samples = new Map(
    servedEndpoints(deps).map(({ operationId, response }) => [operationId, sampleOf(jsonSchemaOf(response, 'output'))]),
  );
  return docsPage(describeApi(deps), { stylesheet, asksForKey, samples });
}
