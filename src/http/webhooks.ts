import type { FastifyInstance } from 'fastify';
import { renderDelivery, renderDeliveryDetails } from '../contract/deliveries.ts';
import { eventListText } from '../contract/events.ts';
import { inputReader } from '../contract/problems.ts';
import { deliveriesQuery, eventsQuery, pageOf } from '../contract/queries.ts';
import { recoverRequest, renderRecovery } from '../contract/recoveries.ts';
import { WEBHOOK_ENDPOINTS } from '../contract/webhook-endpoints.ts';
import { readFeed } from '../operations/read-feed.ts';
import { getDelivery, getEvent } from '../operations/read-records.ts';
import { getRecovery, recoverDeliveries } from '../operations/recover-deliveries.ts';
import { replayDelivery } from '../operations/replay-delivery.ts';
import { resendEvent } from '../operations/resend-event.ts';
import type { AppDeps } from './app.ts';
import { defined, param, renderList, serve, serveText } from './gateway.ts';

const readEventsQuery = inputReader(eventsQuery);
const readDeliveriesQuery = inputReader(deliveriesQuery);
const readRecoverRequest = inputReader(recoverRequest);

/** Events and their deliveries. */
export function webhooksApi(app: FastifyInstance, deps: AppDeps): void {
  const endpoints = WEBHOOK_ENDPOINTS;
  const queryHint = `Parameters: GET ${deps.urls.base}/openapi.json`;

  serveText(app, deps, endpoints.listEvents, async (request, _reply, deps) => {
    const query = readEventsQuery.read(request.query, queryHint);
    const { after, environment, type } = query;
    if (after === undefined) return eventListText(await deps.store.listEvents(defined(query), pageOf(query)));
    const { limit } = pageOf(query);
    return eventListText(await readFeed(deps, defined({ environment, type }), { after, limit }));
  });
  serveText(
    app,
    deps,
    endpoints.getEvent,
    async (request, _reply, deps) => (await getEvent(deps, param(request, 'eventId'))).body,
  );
  serve(app, deps, endpoints.resendEvent, async (request, _reply, deps) => {
    const items = await resendEvent(deps, param(request, 'eventId'));
    return renderList({ items, hasMore: false }, renderDelivery);
  });

  serve(app, deps, endpoints.listDeliveries, async (request, _reply, deps) => {
    const query = readDeliveriesQuery.read(request.query, queryHint);
    const { createdFrom, createdUntil, ...rest } = query;
    const filter = { ...rest, createdFrom: instantOf(createdFrom), createdUntil: instantOf(createdUntil) };
    return renderList(await deps.store.listDeliveries(defined(filter), pageOf(query)), renderDelivery);
  });
  serve(app, deps, endpoints.getDelivery, async (request, _reply, deps) => {
    const { delivery, event, log } = await getDelivery(deps, param(request, 'deliveryId'));
    return renderDeliveryDetails(delivery, log, event.body);
  });
  serve(app, deps, endpoints.replayDelivery, async (request, _reply, deps) =>
    renderDelivery(await replayDelivery(deps, param(request, 'deliveryId'))),
  );

  serve(app, deps, endpoints.recoverDeliveries, async (request, _reply, deps) => {
    const { from, until, all } = readRecoverRequest.read(request.body ?? {}, queryHint);
    const time = { from: Date.parse(from), until: instantOf(until) };
    return renderRecovery(await recoverDeliveries(deps, param(request, 'endpointId'), { ...time, all }));
  });
  serve(app, deps, endpoints.getRecovery, async (request, _reply, deps) =>
    renderRecovery(await getRecovery(deps, param(request, 'recoveryId'))),
  );
}

function instantOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Date.parse(text);
}
