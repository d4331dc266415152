import ArgumentParser

/// What the tool exits with: 1 for an answer that is no, 4 for damage as fsck(8), and the codes of sysexits(3) for what else
/// went wrong.
enum ExitStatus: Int32 {
  case negative = 1
  /// As of a file system check: errors that are left as they are.
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
  /// What a shell makes of SIGINT.
  case interrupted = 130

  /// For the help of every command.
  static let explanation = """
    Exit codes: 0 done; 1 not found, or the answer is no; 4 the cache, or the entry, is damaged; 64 wrong usage; 65 the \
    data is not what it should be; \
    66 no such file or cache; 69 a program that is needed is not installed; 70 a fault of the tool; 73 the cache \
    cannot be created or written to there; 74 the disk is full or failed; 75 another \
    process is in the way; 77 permission denied, or a directory that others may write to; 130 interrupted.
    """

  var code: ExitCode { ExitCode(rawValue) }
}
