#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The reason why a data file was not fully verified.
package enum DataFileError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The file is damaged, or not an LMDB file.
  case finding(DataFileFinding)
  /// The file could not be read; this says nothing about its contents.
  case unreadable(LMDBError)

  package var errorDescription: String? { description }
  package var description: String {
    switch self {
    case .finding(let finding): finding.description
    case .unreadable(let error): error.description
    }
  }
}
