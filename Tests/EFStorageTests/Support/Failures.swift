import EFStorageCore
import TestSupport

/// The failures that are reported while it lives. Failed conversions do not stop the tests.
final class Failures: Sendable {
  private let failures = Guarded<[EFStorageFailure]>([])
  private let observation: EFStorageFailure.Observation

  /// - Parameter key: Only those of this key; nil: all.
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
