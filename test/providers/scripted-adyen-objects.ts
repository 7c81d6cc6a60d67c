// The objects of the scripted Adyen: the subset of their fields that the tests need.

export interface Amount {
  currency: string;
  value: number;
}
/** Adyen's payment link. */
export interface Link {
  id: string;
  reference: string;
  amount: Amount;
  merchantAccount: string;
  status: string;
  url: string;
  expiresAt: string;
  updatedAt: string;
  returnUrl: string;
  allowedPaymentMethods: string[];
}
/** A payment that a buyer has made with a link. */
export interface PaymentAtAdyen {
  psp: string;
  reference: string;
  cents: number;
  method: string;
  refunded: number;
}
/** A refund or a dispute. `reference` is the reference of its notifications. */
export interface Change {
  psp: string;
  payment: string;
  reference: string;
  cents: number;
}
/** Change of the balance, which becomes a line of the settlement report. */
export interface Movement {
  type: string;
  payment: PaymentAtAdyen;
  modification: string;
  gross: number;
  net: number;
  time: number;
}
/** Item of a notification. */
export interface Item {
  pspReference: string;
  originalReference: string;
  merchantAccountCode: string;
  merchantReference: string;
  amount: Amount;
  eventCode: string;
  success: string;
  eventDate: string;
  reason: string;
  paymentMethod: string;
  additionalData?: Readonly<Record<string, string>>;
}

const HEADER =
  'Company Account,Merchant Account,Psp Reference,Merchant Reference,Payment Method,Creation Date,TimeZone,Type,Modification Reference,' +
  'Gross Currency,Gross Debit (GC),Gross Credit (GC),Exchange Rate,Net Currency,Net Debit (NC),Net Credit (NC),Commission (NC),' +
  'Markup (NC),Scheme Fees (NC),Interchange (NC),Payment Method Variant,Modification Merchant Reference,Batch Number';

/** Text of a Settlement details report. */
export function settlementReport(merchantAccount: string, batch: number, movements: readonly Movement[]): string {
  const lines = movements.map(({ type, payment, modification, gross, net, time }) => {
    const date = new Date(time).toISOString().slice(0, 19).replace('T', ' ');
    const about = [merchantAccount, payment.psp, payment.reference, payment.method, date, 'UTC', type, modification];
    const [fee, variant] = [decimal(gross - net), `${payment.method}_standard`];
    return [
      'TestCompany',
      ...about,
      'USD',
      ...sides(gross),
      '1',
      'USD',
      ...sides(net),
      '',
      fee,
      '0.00',
      '0.00',
      variant,
      '',
      batch,
    ];
  });
  const payout = movements.reduce((sum, { net }) => sum + net, 0);
  const fee = ['TestCompany', merchantAccount, '', '', '', '2026-03-02 00:00:00', 'UTC', 'Fee', 'Transaction Fees'];
  const paid = [
    'TestCompany',
    merchantAccount,
    '',
    '',
    '',
    '2026-03-02 00:00:00',
    'UTC',
    'MerchantPayout',
    `Batch ${batch}`,
  ];
  const rest = (net: number) => ['', '', '', '', 'USD', ...sides(net), '', '', '', '', '', '', batch];
  return [HEADER, ...lines, [...fee, ...rest(0)], [...paid, ...rest(-payout)]].map(String).join('\r\n');
}

/** The debit and the credit column of an amount. */
function sides(cents: number): [debit: string, credit: string] {
  return cents < 0 ? [decimal(-cents), ''] : ['', decimal(cents)];
}

function decimal(cents: number): string {
  return (cents / 100).toFixed(2);
}
