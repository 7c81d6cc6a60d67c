import { DISCREPANCY_ENDPOINTS, renderDiscrepancy } from '../contract/discrepancy-contract.ts';
import { getDiscrepancy, resolveDiscrepancy } from '../operations/discrepancies/resolve-discrepancy.ts';
import { apiPart, listing, onRecord } from './api-part.ts';

export const discrepanciesApi = apiPart((serve) => {
  serve(
    DISCREPANCY_ENDPOINTS.listDiscrepancies,
    listing(({ store }, filter, page) => store.listDiscrepancies(filter, page), renderDiscrepancy),
  );
  serve(DISCREPANCY_ENDPOINTS.getDiscrepancy, onRecord('discrepancyId', getDiscrepancy, renderDiscrepancy));
  serve(DISCREPANCY_ENDPOINTS.resolveDiscrepancy, async ({ deps, body: { action, note = null }, param }) =>
    renderDiscrepancy(await resolveDiscrepancy(deps, param('discrepancyId'), { action, note })),
  );
});
