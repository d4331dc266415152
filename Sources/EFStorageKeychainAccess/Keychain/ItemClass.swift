/// The purpose of an item. Each class has its own schema in the service.
public enum ItemClass: Sendable, Hashable {
  case genericPassword
  case internetPassword
}

extension ItemClass: RawRepresentable, CustomStringConvertible {
  public init?(rawValue: String) {
    switch rawValue {
    case "genp": self = .genericPassword
    case "inet": self = .internetPassword
    default: return nil
    }
  }

  /// Apple's code, as in KeychainAccess.
  public var rawValue: String {
    switch self {
    case .genericPassword: "genp"
    case .internetPassword: "inet"
    }
  }

  public var description: String {
    switch self {
    case .genericPassword: "GenericPassword"
    case .internetPassword: "InternetPassword"
    }
  }
}

extension ItemClass {
  /// The schema that marks items of this package.
  var schema: String {
    switch self {
    case .genericPassword: "org.lmdbcaching.Keychain.GenericPassword"
    case .internetPassword: "org.lmdbcaching.Keychain.InternetPassword"
    }
  }
}

/// The protocol of an internet password, part of the item's identity. The raw values are Apple's codes, as in
/// KeychainAccess.
public enum ProtocolType: String, Sendable, Hashable, CaseIterable {
  case ftp = "ftp "
  case ftpAccount = "ftpa"
  case http = "http"
  case irc = "irc "
  case nntp = "nntp"
  case pop3 = "pop3"
  case smtp = "smtp"
  case socks = "sox "
  case imap = "imap"
  case ldap = "ldap"
  case appleTalk = "atlk"
  case afp = "afp "
  case telnet = "teln"
  case ssh = "ssh "
  case ftps = "ftps"
  case https = "htps"
  case httpProxy = "htpx"
  case httpsProxy = "htsx"
  case ftpProxy = "ftpx"
  case smb = "smb "
  case rtsp = "rtsp"
  case rtspProxy = "rtsx"
  case daap = "daap"
  case eppc = "eppc"
  case ipp = "ipp "
  case nntps = "ntps"
  case ldaps = "ldps"
  case telnetS = "tels"
  case imaps = "imps"
  case ircs = "ircs"
  case pop3S = "pops"
}

extension ProtocolType: CustomStringConvertible {
  public var description: String {
    switch self {
    case .ftp: "FTP"
    case .ftpAccount: "FTPAccount"
    case .http: "HTTP"
    case .irc: "IRC"
    case .nntp: "NNTP"
    case .pop3: "POP3"
    case .smtp: "SMTP"
    case .socks: "SOCKS"
    case .imap: "IMAP"
    case .ldap: "LDAP"
    case .appleTalk: "AppleTalk"
    case .afp: "AFP"
    case .telnet: "Telnet"
    case .ssh: "SSH"
    case .ftps: "FTPS"
    case .https: "HTTPS"
    case .httpProxy: "HTTPProxy"
    case .httpsProxy: "HTTPSProxy"
    case .ftpProxy: "FTPProxy"
    case .smb: "SMB"
    case .rtsp: "RTSP"
    case .rtspProxy: "RTSPProxy"
    case .daap: "DAAP"
    case .eppc: "EPPC"
    case .ipp: "IPP"
    case .nntps: "NNTPS"
    case .ldaps: "LDAPS"
    case .telnetS: "TelnetS"
    case .imaps: "IMAPS"
    case .ircs: "IRCS"
    case .pop3S: "POP3S"
    }
  }
}

/// The authentication of an internet password, part of the item's identity. The raw values are Apple's codes, as in
/// KeychainAccess.
public enum AuthenticationType: String, Sendable, Hashable, CaseIterable {
  case ntlm = "ntlm"
  case msn = "msna"
  case dpa = "dpaa"
  case rpa = "rpaa"
  case httpBasic = "http"
  case httpDigest = "httd"
  case htmlForm = "form"
  case `default` = "dflt"
}

extension AuthenticationType: CustomStringConvertible {
  public var description: String {
    switch self {
    case .ntlm: "NTLM"
    case .msn: "MSN"
    case .dpa: "DPA"
    case .rpa: "RPA"
    case .httpBasic: "HTTPBasic"
    case .httpDigest: "HTTPDigest"
    case .htmlForm: "HTMLForm"
    case .default: "Default"
    }
  }
}

/// When an item is readable on Apple platforms.
///
/// **Without effect on Linux**: the Secret Service only locks whole keyrings. The value is recorded as an attribute of
/// the item. The raw values are Apple's codes, as in KeychainAccess.
public enum Accessibility: String, Sendable, Hashable, CaseIterable {
  case whenUnlocked = "ak"
  case afterFirstUnlock = "ck"
  case always = "dk"
  case whenPasscodeSetThisDeviceOnly = "akpu"
  case whenUnlockedThisDeviceOnly = "aku"
  case afterFirstUnlockThisDeviceOnly = "cku"
  case alwaysThisDeviceOnly = "dku"
}

extension Accessibility: CustomStringConvertible {
  public var description: String {
    switch self {
    case .whenUnlocked: "WhenUnlocked"
    case .afterFirstUnlock: "AfterFirstUnlock"
    case .always: "Always"
    case .whenPasscodeSetThisDeviceOnly: "WhenPasscodeSetThisDeviceOnly"
    case .whenUnlockedThisDeviceOnly: "WhenUnlockedThisDeviceOnly"
    case .afterFirstUnlockThisDeviceOnly: "AfterFirstUnlockThisDeviceOnly"
    case .alwaysThisDeviceOnly: "AlwaysThisDeviceOnly"
    }
  }
}
