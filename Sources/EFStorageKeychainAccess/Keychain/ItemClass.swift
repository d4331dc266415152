/// The purpose of an item. Each class has its own schema in the service. The raw values are Apple's codes, as in
/// KeychainAccess.
public enum ItemClass: String, Sendable, Hashable {
  case genericPassword = "genp"
  case internetPassword = "inet"

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
