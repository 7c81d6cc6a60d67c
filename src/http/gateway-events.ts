import {
  DELIVERY_ENDPOINTS,
  EVENT_ENDPOINTS,
  renderDelivery,
  renderDeliveryDetails,
  renderRecovery,
} from '../contract/delivery-contract.ts';
import { eventListText } from '../contract/event-contract.ts';
import { pageOf } from '../contract/list-query.ts';
import { instantFrom } from '../contract/settlement-contract.ts';
import { readFeed } from '../operations/read-feed.ts';
import { getDelivery, getEvent } from '../operations/read-records.ts';
import { getRecovery, recoverDeliveries, replayDelivery, resendEvent } from '../operations/redeliver.ts';
import { apiPart, defined, listing, onRecord, renderList } from './api-part.ts';

/** Endpoints of events, deliveries and recoveries. */
export const webhooksApi = apiPart((serve) => {
  serve(EVENT_ENDPOINTS.listEvents, async ({ deps, query }) => {
    const { after, environment, type } = query;
    if (after === undefined) return eventListText(await deps.store.listEvents(defined(query), pageOf(query)));
    const { limit } = pageOf(query);
    return eventListText(await readFeed(deps, defined({ environment, type }), { after, limit }));
  });
  serve(EVENT_ENDPOINTS.getEvent, async ({ deps, param }) => (await getEvent(deps, param('eventId'))).body);
  serve(EVENT_ENDPOINTS.resendEvent, async ({ deps, param }) =>
    renderList({ items: await resendEvent(deps, param('eventId')), hasMore: false }, renderDelivery),
  );

  serve(
    DELIVERY_ENDPOINTS.listDeliveries,
    listing(({ store }, { createdFrom, createdUntil, ...filter }, page) => {
      const range = defined({ createdFrom: instantFrom(createdFrom), createdUntil: instantFrom(createdUntil) });
      return store.listDeliveries({ ...filter, ...range }, page);
    }, renderDelivery),
  );
  serve(DELIVERY_ENDPOINTS.getDelivery, async ({ deps, param }) => {
    const { delivery, event, log } = await getDelivery(deps, param('deliveryId'));
    return renderDeliveryDetails(delivery, log, event.body);
  });
  serve(DELIVERY_ENDPOINTS.replayDelivery, onRecord('deliveryId', replayDelivery, renderDelivery));
  serve(DELIVERY_ENDPOINTS.recoverDeliveries, async ({ deps, body: { from, until, all }, param }) => {
    const range = { from: Date.parse(from), until: instantFrom(until), all };
    return renderRecovery(await recoverDeliveries(deps, param('endpointId'), range));
  });
  serve(DELIVERY_ENDPOINTS.getRecovery, onRecord('recoveryId', getRecovery, renderRecovery));
});
