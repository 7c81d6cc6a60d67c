import type { FastifyInstance } from 'fastify';
import { dashboardPages } from '../../src/dashboard/dashboard.ts';
import { type AppDeps, createApp } from '../../src/http/app.ts';
import type { TestService } from './service.ts';

/** The routes of the dashboard, such as `GET /dashboard/login`, with further ones for a test of the test. */
export async function dashboardRoutes(
  { service }: TestService,
  more: (app: FastifyInstance) => void = () => undefined,
): Promise<string[]> {
  const found: string[] = [];
  const watch = (app: FastifyInstance) => {
    app.addHook('onRoute', ({ method, url }) => {
      for (const each of [method].flat())
        if (each !== 'HEAD' && url.startsWith('/dashboard')) found.push(`${each} ${url}`);
    });
    more(app);
  };
  const app = await createApp(service.deps as AppDeps, [watch, dashboardPages]);
  await app.close();
  return found;
}
