/// A reference that reports its failures to the observers and its hooks, and keeps the last one.
package protocol ReportingReference: EFSingleInstanceStorageReference {
  var failures: FailureRecord { get }
  var turn: Turn { get }

  func onConversionFailure(for content: Content, dueTo error: any Error)
  func onStorageFailure(_ error: any Error)
  func onLoadFailure(_ error: any Error)
}

extension ReportingReference {
  package func report(_ failure: EFStorageFailure, writing content: Content?) -> EFStorageFailure {
    failures.note(failure)
    failure.report()
    if failure.kind == .conversion, let content {
      onConversionFailure(for: content, dueTo: failure.underlying)
    } else {
      onStorageFailure(failure.underlying)
    }
    return failure
  }

  /// Runs `body`, which reads the content, and reports its error.
  package func reportingLoad(_ body: () throws -> Content?) throws(EFStorageFailure) -> Content? {
    do {
      let content = try body()
      failures.clear()
      return content
    } catch {
      let failure = failure(.loading, error)
      // Reported once until it is read or written, or fails for another reason.
      if failures.last?.description != failure.description {
        failures.note(failure)
        failure.report()
        onLoadFailure(error)
      }
      throw failure
    }
  }

  package func failure(_ kind: EFStorageFailure.Kind, _ error: any Error) -> EFStorageFailure {
    EFStorageFailure(kind, key: key, storage: Storage.self, content: Content.self, underlying: error)
  }
}
