import { html } from '../../html/html.ts';
import type { PageRoutes } from '../visit.ts';

/** The first page of an environment. */
export function overviewPage(routes: PageRoutes): void {
  routes.get('', async () => ({ title: 'Overview', isLive: true, main: html`<p>Nothing needs attention.</p>` }));
}
