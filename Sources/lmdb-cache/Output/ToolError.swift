import ArgumentParser
import LMDBCaching
import LMDBCachingImport

/// An error that ends the tool: a message for standard error, and an exit code.
struct ToolError: Error {
  var status: ExitStatus
  var message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  init(_ error: CacheError) {
    status =
      switch error.code {
      case .damagedDatabase, .corruptedRecord: .damaged
      case .typeMismatch, .decodingFailed, .unsupportedRecord, .unsupportedVersion, .missingTransform, .untransformed:
        .dataError
      case .invalidArgument, .durabilityMismatch: .usage
      case .invalidDirectory, .remoteFileSystem, .readOnlyFileSystem: .cannotCreate
      case .permissionDenied, .insecureDirectory: .noPermission
      case .busy, .lockTimeout, .processNamespaceMismatch: .busy
      case .noSpace, .storageFailed, .notCommitted: .inputOutput
      default: .software
      }
    message = error.message
    if let underlying = error.underlying { message += " (\(underlying))" }
  }

  /// `nil` for an error that is not of the tool, a cache or an import.
  init?(any error: any Error) {
    switch error {
    case let error as ToolError: self = error
    case let error as CacheError: self.init(error)
    case let error as ImportError: self.init(error)
    default: return nil
    }
  }
}

extension ToolError {
  init(_ error: ImportError) {
    if error.code == .cacheFailed, let underlying = error.underlying as? CacheError {
      self.init(underlying)
      return
    }
    let status: ExitStatus =
      switch error.code {
      case .sourceNotFound: .noInput
      case .foreignSource, .damagedSource, .encryptedSource: .dataError
      case .sourceInUse: .busy
      case .permissionDenied: .noPermission
      case .unreadableSource: .inputOutput
      case .invalidArgument: .usage
      default: .software
      }
    self.init(status, error.message + (error.underlying.map { " (\($0))" } ?? ""))
  }
}

/// Exit codes: 1 for a negative answer, 4 for damage as in fsck(8), and sysexits(3) for other failures.
enum ExitStatus: Int32 {
  case negative = 1
  /// As in a file system check: uncorrected errors.
  case damaged = 4
  case usage = 64
  case dataError = 65
  case noInput = 66
  case unavailable = 69
  case software = 70
  case cannotCreate = 73
  case inputOutput = 74
  case busy = 75
  case noPermission = 77
  /// The shell's code for SIGINT.
  case interrupted = 130

  static let explanation = """
    Exit codes: 0 done; 1 not found, or the answer is no; 4 the cache, or the entry, is damaged; 64 wrong usage; 65 the \
    data is not what it should be; \
    66 no such file or cache; 69 a program that is needed is not installed; 70 a fault of the tool; 73 the cache \
    cannot be created or written to there; 74 the disk is full or failed; 75 another \
    process is in the way; 77 permission denied, or a directory that others may write to; 130 interrupted.
    """

  var code: ExitCode { ExitCode(rawValue) }
}

extension CommandConfiguration {
  /// A command's, whose help ends with the exit codes.
  init(_ name: String, _ abstract: String, _ discussion: String) {
    self.init(commandName: name, abstract: abstract, discussion: discussion + "\n\n" + ExitStatus.explanation)
  }
}

/// The package's version. `CHANGELOG.md` has a section for it.
enum ToolVersion {
  static let current = "0.1.0"
}
