import { z } from 'zod';
import { endpoints } from './endpoint.ts';
import { environment, list } from './list-query.ts';
import * as field from './resource-fields.ts';
import { named, rendererOf, resource } from './resource.ts';
import { SAMPLE_ROUTE_ID } from './sample-ids.ts';

const finding = named(
  'ProviderFinding',
  z.strictObject({
    level: field.choice(['ok', 'warning', 'error'], 'error: keeps the instance from being ready.'),
    message: field.label('The finding, as a clause.', 'the key was refused (401)'),
    todo: field.label('Remedy, as a sentence.', 'Set STRIPE_SECRET_KEY to a valid key, and restart.').optional(),
  }),
);

const providerResource = resource('ProviderInstance', 'provider', {
  id: field.label('The instance.', 'stripe_test'),
  adapter: field.label('The kind of provider.', 'stripe'),
  environment: field.environmentOf('The only environment in which the instance can move money.'),
  account: field.label("The provider's id of the account, if it is configured.", 'acct_1Nv0FGQ9RKHgCVdK').optional(),
  ready: field.flag('False if the routes of the instance are in standby.', false),
  reason: field.label('Reason why the instance is not ready, or null.', 'the key was refused (401)').nullable(),
  findings: z.array(finding).describe('Results of its last check by this process.'),
  checkedAt: field.time('Time of that check, or null.').nullable(),
  routes: z.array(field.label('A route.', SAMPLE_ROUTE_ID)).describe('The routes that it carries.'),
});

export const renderProvider = rendererOf(providerResource);

export const PROVIDER_ENDPOINTS = endpoints('providers', {
  listProviders: {
    ...list(
      '/api/gateway/providers',
      'List the connected providers',
      z.strictObject({ environment }),
      providerResource,
      'Each provider with its readiness and the findings of its last check.',
    ),
    access: 'admin',
  },
});
