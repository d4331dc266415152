import ArgumentParser

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
