import { feesEstimateRequest, feesEstimateResult } from '../../contract/action-contract.ts';
import { optionsOf } from '../capabilities/command-line.ts';
import { estimateFees } from '../estimate-fees.ts';
import { INVALID_INPUT, INVALID_JSON, READ_ONLY, defineAction } from '../operation.ts';
import { checkoutExample } from './checkout-preview.ts';

const OPTIONS = { preferredRoute: 'kind', routeId: 'route', environment: 'environment' };

export const feesEstimate = defineAction({
  name: 'fees.estimate',
  title: 'Estimate fees',
  description:
    'Splits an amount into buyer fee, gateway fee and merchant net, on the best route or on routeId. Use it to compare routes; with a known buyer use checkout.preview. Writes and reserves nothing.',
  input: feesEstimateRequest,
  output: feesEstimateResult,
  annotations: READ_ONLY,
  access: 'look',
  errors: [INVALID_INPUT, INVALID_JSON],
  next: 'Call checkout.create with the same amount and preferredRoute.',
  command: ({ amount, ...others }) => ['fees', String(amount), ...optionsOf(others, OPTIONS)],
  example: (deps) => {
    const { request, response } = checkoutExample(deps);
    const { customer: _customer, product: _product, ...asked } = request;
    const { environment, route, feeSplit } = response;
    return { request: asked, response: { environment, route, feeSplit } };
  },
  run: (deps, input) => ({ result: estimateFees(deps, input) }),
});
