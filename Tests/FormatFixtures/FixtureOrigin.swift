package enum FixtureOrigin: Sendable {
  /// Written now by this version, which checks the expectations too.
  case current
  case release(String)

  package static let all: [FixtureOrigin] = [.current, .release("0.1.0")]
}
