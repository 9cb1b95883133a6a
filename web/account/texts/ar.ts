// العربية.

import type { AccountTexts } from './en.ts'

export const ar: AccountTexts = {
  groups: { account: 'الحساب', security: 'الأمان', mail: 'البريد', data: 'التخزين' },
  overview: {
    title: 'نظرة عامة',
    lead: 'حسابك في لمحة.',
    you: 'عنك',
    name: 'الاسم',
    nameHint: 'كما يظهر قبل عنوانك في ما ترسله.',
    address: 'العنوان الرئيسي',
    username: 'اسم المستخدم',
    storage: 'التخزين',
    used: (used, allowed, part) => `استُخدم ${used} من ${allowed} (${part})`,
    addresses: 'العناوين',
    addressesText: 'يصل إلى هنا البريد المرسل إلى أيٍّ منها.',
    main: 'العنوان الرئيسي',
    limits: 'اليوم',
    recipients: 'المستلمون',
    forwards: 'المعاد توجيهه',
    received: 'الوارد',
    of: (used, allowed) => `${used} من ${allowed}`,
  },
}
