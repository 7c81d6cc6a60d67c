import type { FastifyInstance } from 'fastify';
import { loadAsset, serveAssets } from '../html/assets.ts';
import type { Html } from '../html/html.ts';
import { sendPage } from '../html/page.ts';
import type { AppDeps } from './app.ts';
import { docsPage } from './docs-page.ts';
import { describeApi } from './openapi.ts';

/** The API reference for people: one page of ours, readable without scripts. */
export function apiReference(app: FastifyInstance, deps: AppDeps): void {
  const stylesheet = loadAsset(new URL('assets/docs.css', import.meta.url));
  let page: Html | undefined;
  serveAssets(app, [stylesheet]);
  app.get('/docs', (_request, reply) => {
    page ??= docsPage(describeApi(deps), stylesheet.path);
    return sendPage(reply, 200, page);
  });
}
