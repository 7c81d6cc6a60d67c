import { PROVIDER_ENDPOINTS, renderProvider } from '../contract/provider-contract.ts';
import { environmentsOf } from '../operations/access/caller.ts';
import { apiPart, renderList } from './api-part.ts';

/** Endpoint that lists the provider instances and their readiness. */
export const providersApi = apiPart((serve) => {
  serve(PROVIDER_ENDPOINTS.listProviders, async ({ deps, query }) => {
    const environments = environmentsOf(deps, query.environment);
    const items = deps.readiness.list().filter(({ environment }) => environments.includes(environment));
    return renderList({ items, hasMore: false }, (status) => {
      const isCarried = ({ integrationId, environment }: (typeof deps.routes)[number]) =>
        integrationId === status.id && environment === status.environment;
      return renderProvider({ ...status, routes: deps.routes.filter(isCarried).map(({ id }) => id) });
    });
  });
});
