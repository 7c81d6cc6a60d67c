import type { FastifyInstance } from 'fastify';
import { discrepanciesQuery, renderDiscrepancy, resolveRequest } from '../contract/discrepancies.ts';
import { DISCREPANCY_ENDPOINTS } from '../contract/discrepancy-endpoints.ts';
import { inputReader } from '../contract/problems.ts';
import { pageOf } from '../contract/queries.ts';
import { getDiscrepancy, resolveDiscrepancy } from '../operations/discrepancies/resolve-discrepancy.ts';
import type { AppDeps } from './app.ts';
import { defined, param, renderList, serve } from './gateway.ts';

const readDiscrepanciesQuery = inputReader(discrepanciesQuery);
const readResolveRequest = inputReader(resolveRequest);

/** Money that came twice, or not as it was asked for. */
export function discrepanciesApi(app: FastifyInstance, all: AppDeps): void {
  const endpoints = DISCREPANCY_ENDPOINTS;
  const hint = `Parameters: GET ${all.urls.base}/openapi.json`;

  serve(app, all, endpoints.listDiscrepancies, async (request, _reply, deps) => {
    const query = readDiscrepanciesQuery.read(request.query, hint);
    return renderList(await deps.store.listDiscrepancies(defined(query), pageOf(query)), renderDiscrepancy);
  });
  serve(app, all, endpoints.getDiscrepancy, async (request, _reply, deps) =>
    renderDiscrepancy(await getDiscrepancy(deps, param(request, 'discrepancyId'))),
  );
  serve(app, all, endpoints.resolveDiscrepancy, async (request, _reply, deps) => {
    const { action, note = null } = readResolveRequest.read(request.body ?? {}, hint);
    return renderDiscrepancy(await resolveDiscrepancy(deps, param(request, 'discrepancyId'), { action, note }));
  });
}
