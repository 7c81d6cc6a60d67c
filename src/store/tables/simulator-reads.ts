import type { Select } from '../keyset.ts';
import { createReader } from '../reader.ts';
import type { SimulatorReads } from '../simulator.ts';
import * as simulator from './simulator.ts';

export function createSimulatorReads(select: Select): SimulatorReads {
  const { one, all } = createReader(select);
  return {
    simulatedPayment: (reference) => one(simulator.simulatedFromRow, simulator.SELECT_SIMULATED, reference),
    simulatedPaymentOf: (paymentId) =>
      one(simulator.simulatedFromRow, simulator.SELECT_SIMULATED_OF_PAYMENT, paymentId),
    simulatedPaymentsOfSession: (sessionId) =>
      all(simulator.simulatedFromRow, simulator.SELECT_SIMULATED_OF_SESSION, sessionId),
    simulatedRefund: (id) => one(simulator.simulatedRefundFromRow, simulator.SELECT_SIMULATED_REFUND, id),
    simulatedCallbacksDue: (now, limit) => all(simulator.callbackFromRow, simulator.SELECT_CALLBACKS_DUE, now, limit),
  };
}
