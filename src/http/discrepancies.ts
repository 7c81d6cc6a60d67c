import { DISCREPANCY_ENDPOINTS, renderDiscrepancy } from '../contract/discrepancy-contract.ts';
import { getDiscrepancy } from '../operations/discrepancies/read-discrepancies.ts';
import { resolveDiscrepancy } from '../operations/discrepancies/resolve-discrepancy.ts';
import { apiPart, listing } from './api-part.ts';

export const discrepanciesApi = apiPart((serve) => {
  serve(
    DISCREPANCY_ENDPOINTS.listDiscrepancies,
    listing(({ store }, filter, page) => store.listDiscrepancies(filter, page), renderDiscrepancy),
  );
  serve(DISCREPANCY_ENDPOINTS.getDiscrepancy, async ({ deps, param }) =>
    renderDiscrepancy(await getDiscrepancy(deps, param('discrepancyId'))),
  );
  serve(DISCREPANCY_ENDPOINTS.resolveDiscrepancy, async ({ deps, body: { action, note = null }, param }) =>
    renderDiscrepancy(await resolveDiscrepancy(deps, param('discrepancyId'), { action, note })),
  );
});
