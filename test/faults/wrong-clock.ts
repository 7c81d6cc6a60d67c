// A preload for `--import`: the clock of this process is wrong by CLOCK_OFFSET_MS, like the clock of a misconfigured machine.
const offset = Number(process.env['CLOCK_OFFSET_MS']);
const RightDate = Date;
const rightNow = (): number => RightDate.now();

globalThis.Date = new Proxy(RightDate, {
  construct: (target, args: unknown[], self) =>
    Reflect.construct(target, args.length === 0 ? [rightNow() + offset] : args, self) as object,
  get: (target, name) => (name === 'now' ? () => rightNow() + offset : (Reflect.get(target, name) as unknown)),
});
