import { z } from 'zod';
import { FAILURE_CODES, FAILURE_SOURCES } from '../domain/failure.ts';
import { label } from './described.ts';

export const paymentFailure = z
  .strictObject({
    code: z
      .enum(FAILURE_CODES)
      .describe('The cause, for programs. Later versions can add codes: treat an unknown code as declined.')
      .meta({ examples: ['insufficient_funds'] }),
    source: z
      .enum(FAILURE_SOURCES)
      .describe(
        "buyer: the buyer or the buyer's data; issuer: the buyer's bank or wallet; route: the provider; gateway: this service.",
      )
      .meta({ examples: ['buyer'] }),
    reason: label("The provider's own reason, at most 200 characters; null if it gave none.", 'insufficient_funds')
      .nullable()
      .meta({ examples: ['insufficient_funds'] }),
    message: label('The cause as a sentence for a person.', "The buyer's account did not have enough funds."),
  })
  .describe('The cause of a payment failure.');
