/// Who has written the files that are read.
package enum FixtureOrigin: Sendable {
  /// This version, now: so what is expected is what is written.
  case current
  case release(String)

  package static let all: [FixtureOrigin] = [.current, .release("0.1.0")]
}
