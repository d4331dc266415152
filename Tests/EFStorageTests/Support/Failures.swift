import EFStorageCore
import TestSupport

/// Collects the reported failures during its lifetime. Failed conversions do not stop the tests.
final class Failures: Sendable {
  private let failures = Guarded<[EFStorageFailure]>([])
  private let observation: EFStorageFailure.Observation

  /// - Parameter key: Restricts it to this key; nil: all.
  init(of key: String? = nil) {
    EFStorageFailure.trapsOnConversionFailureInDebugBuilds = false
    let failures = failures
    observation = EFStorageFailure.observe { failure in
      if key == nil || failure.key == key { failures { $0.append(failure) } }
    }
  }

  var all: [EFStorageFailure] { failures.current }
  var kinds: [EFStorageFailure.Kind] { all.map(\.kind) }
}
