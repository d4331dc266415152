/// A load that threads wait for.
final class ThreadFlight: Sendable {
  let load: Load
  let outcome = AwaitedResult<SingleFlight.Outcome>()

  init(_ load: Load) { self.load = load }
}
